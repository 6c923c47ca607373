"""What is pasted: long texts become a short mark and are sent whole, pictures go along as files."""

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from urllib.parse import unquote, urlsplit

LINES_MAX, CHARS_MAX = 8, 1_500  # of a paste that stands in the line as it is
PASTE_CHARS_MAX = 1_000_000
IMAGE_BYTES_MAX, IMAGES_MAX = 20_000_000, 10
CLIPBOARD_S = 3.0
CLIPBOARDS = (
    ("wl-paste", "--type", "image/png", "--no-newline"),
    ("xclip", "-selection", "clipboard", "-t", "image/png", "-o"),
    ("pngpaste", "-"),
)
_MARK = re.compile(r"\[(?:pasted \d+ lines|image) #(\d+)[^\]\n]*\]")
_AT = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

Image = tuple[bytes, str, str]


@dataclass
class Pastes:
    """What the marks of the line being written stand for."""

    texts: dict[int, str] = field(default_factory=dict)
    images: dict[int, Image] = field(default_factory=dict)
    _count: int = 0

    def put(self, text: str) -> str:
        """What is to stand in the line for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")[:PASTE_CHARS_MAX]
        lines = text.count("\n") + 1
        if lines <= LINES_MAX and len(text) <= CHARS_MAX:
            return text
        self._count += 1
        self.texts[self._count] = text
        return f"[pasted {lines} lines #{self._count}]"

    def attach(self, image: Image) -> str:
        if len(self.images) >= IMAGES_MAX:
            return ""
        self._count += 1
        self.images[self._count] = image
        name = "".join(c for c in image[2] if c.isprintable() and c not in "[]")
        return f"[image #{self._count} {name}]"

    def whole(self, text: str) -> tuple[str, tuple[Image, ...]]:
        """The text as it was meant; pictures whose mark was deleted stay behind."""
        images: list[Image] = []

        def meant(mark: "re.Match[str]") -> str:
            number = int(mark[1])
            if number in self.images:
                images.append(self.images[number])
                return mark[0]
            return self.texts.get(number, mark[0])

        return _MARK.sub(meant, text), tuple(images)


def path_of(pasted: str) -> Path | None:
    """A terminal pastes a file that is dropped on it as its path, quoted or escaped."""
    text = pasted.strip()
    if not text or "\n" in text or len(text) > 4_096:
        return None
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    else:
        try:
            words = shlex.split(text)
        except ValueError:
            return None
        text = words[0] if len(words) == 1 else text
    path = Path(text)
    return path if path.is_absolute() or text.startswith(("./", "../", "~")) else None


def image_at(path: Path) -> Image | None:
    """None when there is no picture there, or one that is too large."""
    try:
        with path.expanduser().open("rb") as file:
            start = file.read(16)
            if not (kind := kind_of(start)):
                return None
            content = start + file.read(IMAGE_BYTES_MAX)
    except (OSError, RuntimeError):
        return None
    return (content, kind, path.name) if len(content) <= IMAGE_BYTES_MAX else None


def kind_of(content: bytes) -> str:
    for start, kind in _KINDS:
        if content.startswith(start):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


def named_images(text: str, root: Path) -> Sequence[Image]:
    """Pictures that the text names with an @."""
    paths = [first or second for first, second in _AT.findall(text)]
    found = (image_at(root / path) for path in paths[:IMAGES_MAX])
    return [image for image in found if image is not None]


async def clipboard_image(environ: Mapping[str, str]) -> Image | None:
    """What a program of this desktop gives; over SSH there is none."""
    for program, *arguments in CLIPBOARDS:
        found = which(program, path=environ.get("PATH"))
        if found is None:
            continue
        child = await asyncio.create_subprocess_exec(
            found,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(CLIPBOARD_S):
                content, _ = await child.communicate()
        except TimeoutError:
            child.kill()
            await child.wait()
            continue
        if kind := kind_of(content):
            return (content, kind, "clipboard.png") if len(content) <= IMAGE_BYTES_MAX else None
    return None
