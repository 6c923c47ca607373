"""Pictures that go along with a message: what they are is told by their first bytes."""

from pathlib import Path

from hermes.cli.errors import Usage

BYTES_MAX, IMAGES_MAX = 20_000_000, 10
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def read_images(paths: list[str]) -> list[tuple[bytes, str, str]]:
    """Content, media type and name of each. Raises Usage for what is no picture."""
    if len(paths) > IMAGES_MAX:
        raise Usage(f"at most {IMAGES_MAX} pictures go along with one message")
    return [_read(Path(path)) for path in paths]


def _read(path: Path) -> tuple[bytes, str, str]:
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except OSError as refused:
        raise Usage(f"--image {path}: {refused.strerror}") from refused
    if len(content) > BYTES_MAX:
        raise Usage(f"--image {path}: larger than {BYTES_MAX // 1_000_000} MB")
    return content, _kind(content, path), path.name


def _kind(content: bytes, path: Path) -> str:
    for start, kind in _KINDS:
        if content.startswith(start):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise Usage(f"--image {path}: neither PNG, JPEG, GIF nor WebP")
