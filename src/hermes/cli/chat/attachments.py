"""Attach files to a message: pictures as they are, texts as a part of the message.

The type of a file is detected by its bytes, not by its name.
"""

from collections.abc import Sequence
from pathlib import Path

from hermes.cli.errors import UsageError
from hermes.text.visible_text import visible_text

BYTES_MAX, IMAGES_MAX, FILES_MAX = 20_000_000, 10, 20
TEXT_CHARS_MAX = 100_000  # of a whole message
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

Image = tuple[bytes, str, str]  # content, media type, name


def read_attachments(
    files: Sequence[str], images: Sequence[str]
) -> tuple[Sequence[str], Sequence[Image]]:
    """Return the texts and the pictures. Raise UsageError for other files, and for large ones."""
    if len(files) > FILES_MAX:
        raise UsageError(f"a message takes at most {FILES_MAX} files")
    texts: list[str] = []
    pictures = [_image(Path(path), _read(Path(path), "--image"), "--image") for path in images]
    for path in map(Path, files):
        content = _read(path, "--file")
        text = _text(content)
        if text is None:
            pictures.append(_image(path, content, "--file"))
        else:
            texts.append(_fenced(path, text))
    if len(pictures) > IMAGES_MAX:
        raise UsageError(f"a message takes at most {IMAGES_MAX} pictures")
    return texts, pictures


def _read(path: Path, option: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except OSError as refused:
        raise UsageError(f"{option} {path}: {refused.strerror}") from refused
    if len(content) > BYTES_MAX:
        raise UsageError(f"{option} {path}: larger than {BYTES_MAX // 1_000_000} MB")
    return content


def _text(content: bytes) -> str | None:
    """Return the content as text; None when it is not text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _fenced(path: Path, text: str) -> str:
    if len(text) > TEXT_CHARS_MAX:
        raise UsageError(
            f"--file {path}: {len(text):,} characters, and a message has at most "
            f"{TEXT_CHARS_MAX:,}. Name the path in your message instead, so that I read it there"
        )
    return f'<file name="{visible_text(path.name)}">\n{text.rstrip()}\n</file>'


def _image(path: Path, content: bytes, option: str) -> Image:
    for start, kind in _KINDS:
        if content.startswith(start):
            return content, kind, path.name
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return content, "image/webp", path.name
    other = "a text in UTF-8, " if option == "--file" else ""
    raise UsageError(f"{option} {path}: it is not {other}a PNG, a JPEG, a GIF or a WebP file")
