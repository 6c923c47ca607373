"""Pastes: a long text becomes a short mark and is sent whole; pictures are sent as files.

A mark is one character of the line, drawn as a few words: one Backspace removes it, the cursor
steps over it, and no part of it can be edited.
"""

import asyncio
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from urllib.parse import unquote, urlsplit

LINES_MAX, CHARS_MAX = 8, 1_500  # of a paste that stands in the line as it is
PASTE_CHARS_MAX = 1_000_000
UNFOLDED_CHARS_MAX = 50_000  # that can be edited in the line without delay
MARKS_MAX, KEPT_CHARS_MAX = 1_000, 20_000_000  # what has been deleted may be put back for so long
FIRST_MARK = 0x10F000  # of characters for private use, which keyboards do not have
IMAGE_BYTES_MAX, IMAGES_MAX = 20_000_000, 10
CLIPBOARD_S = 3.0
CLIPBOARDS = (
    ("wl-paste", "--type", "image/png", "--no-newline"),
    ("xclip", "-selection", "clipboard", "-t", "image/png", "-o"),
    ("pngpaste", "-"),
)
_AT = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

_OURS = re.compile(f"[{chr(FIRST_MARK)}-{chr(FIRST_MARK + MARKS_MAX - 1)}]")
GONE = "[a paste that was forgotten]"

Image = tuple[bytes, str, str]


@dataclass(frozen=True)
class PasteMark:
    """What a character of the line stands for: a text, or a picture."""

    label: str
    text: str = ""
    image: Image | None = None


@dataclass
class Pastes:
    """The contents behind the marks of the line. A mark outlives its line: it may be yanked
    back."""

    marks: dict[str, PasteMark] = field(default_factory=dict)
    _count: int = 0

    def put(self, text: str) -> str:
        """Return what to insert into the line: a short text itself, or a mark."""
        text = _OURS.sub(
            "\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n")
        )
        text = text[:PASTE_CHARS_MAX]
        lines = text.removesuffix("\n").count("\n") + 1
        if lines <= LINES_MAX and len(text) <= CHARS_MAX:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text):,} characters"
        return self._mark(lambda n: PasteMark(f"[pasted {size} #{n}]", text=text))

    def attach(self, image: Image, line: str = "") -> str:
        """Return a mark for a picture; "" when the line has as many as can be sent."""
        marks = (self.marks.get(char) for char in line)
        if sum(mark is not None and mark.image is not None for mark in marks) >= IMAGES_MAX:
            return ""
        name = "".join(c for c in image[2] if c.isprintable() and c not in "[]")
        return self._mark(lambda n: PasteMark(f"[image #{n} {name}]", image=image))

    def label(self, char: str) -> str | None:
        """Return the words that are drawn for a character; None when it is itself."""
        if not FIRST_MARK <= ord(char) < FIRST_MARK + MARKS_MAX:
            return None
        mark = self.marks.get(char)
        return mark.label if mark is not None else GONE

    def whole(self, text: str) -> tuple[str, tuple[Image, ...]]:
        """Return the text as it was meant, and the pictures whose marks are in it."""
        images = [self.marks[c].image for c in text if c in self.marks]
        meant = "".join(self._meant(char) for char in text)
        return meant, tuple(image for image in images if image is not None)

    def forget_images(self) -> None:
        """Forget the pictures once the line was sent, because they are large. A text may still be
        yanked back."""
        self.marks = {char: mark for char, mark in self.marks.items() if mark.image is None}

    def at(self, line: str, cursor: int) -> int | None:
        """Return the place of the mark at the cursor or right before it, if it has a text."""
        for place in (cursor, cursor - 1):
            mark = self.marks.get(line[place : place + 1]) if place >= 0 else None
            if mark is not None and mark.image is None:
                return place
        return None

    def _meant(self, char: str) -> str:
        mark = self.marks.get(char)
        if mark is None:
            return "" if self.label(char) is not None else char
        return mark.text if mark.image is None else mark.label

    def _mark(self, made: Callable[[int], PasteMark]) -> str:
        self._count += 1
        char = chr(FIRST_MARK + self._count % MARKS_MAX)
        self.marks.pop(char, None)
        self.marks[char] = made(self._count)
        while sum(len(mark.text) for mark in self.marks.values()) > KEPT_CHARS_MAX:
            del self.marks[next(iter(self.marks))]
        return char


def path_of(pasted: str) -> Path | None:
    """Return the path of a dropped file. Terminals paste it as a path, quoted or escaped."""
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
    """Return the picture at a path; None when there is none, or it is too large."""
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
    """Return the pictures that the text names with an @."""
    paths = [first or second for first, second in _AT.findall(text)]
    found = (image_at(root / path) for path in paths[:IMAGES_MAX])
    return [image for image in found if image is not None]


async def clipboard_image(environ: Mapping[str, str]) -> Image | None:
    """Return the picture in the desktop's clipboard; None over SSH."""
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
