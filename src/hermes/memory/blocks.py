"""Split a Markdown file into blocks, some of which are memory entries. Pure.

An entry is a list item with the lines that belong to it, a paragraph, or a fenced block. Headings,
rules, comments, front matter and blank lines are kept as they are and are no entries. The blocks
together are always the file, byte for byte: what a person wrote around an entry stays.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from hermes.lazy import LazyPattern
from hermes.memory.text import plain

Kind = Literal["item", "paragraph", "fenced", "other"]
FRONT_MATTER_LINES_MAX = 50

_ITEM = LazyPattern(r"( {0,1}(?:[-*+]|\d{1,9}[.)])[ \t]+)(?=\S)")
_HEADING = LazyPattern(r" {0,3}#{1,6}(\s|$)")
_RULE = LazyPattern(r" {0,3}([-*_=])\s*(\1\s*){2,}$")
_FENCE = LazyPattern(r" {0,3}(`{3,}|~{3,})")
_COMMENT = "<!--"


class MemoryBlock(Struct, frozen=True):
    kind: Kind
    raw: str

    @property
    def is_entry(self) -> bool:
        return self.kind != "other"

    @property
    def text(self) -> str:
        """Return the entry as one line of text; "" for a block that is not an entry."""
        if self.kind == "other":
            return ""
        marker = _ITEM.match(self.raw) if self.kind == "item" else None
        return plain(self.raw[marker.end() :] if marker is not None else self.raw)


def blocks_of(text: str) -> tuple[MemoryBlock, ...]:
    found = tuple(_blocks(_lines(text)))
    return tuple(b if not b.is_entry or b.text else MemoryBlock("other", b.raw) for b in found)


def text_of(blocks: Sequence[MemoryBlock]) -> str:
    return "".join(block.raw for block in blocks)


def entries_of(blocks: Sequence[MemoryBlock]) -> tuple[str, ...]:
    return tuple(block.text for block in blocks if block.is_entry)


def item(text: str) -> MemoryBlock:
    return MemoryBlock("item", f"- {text}\n")


def replaced(
    blocks: Sequence[MemoryBlock], numbers: Sequence[int], new: Sequence[str]
) -> list[MemoryBlock]:
    """Replace the entries with these numbers by new ones, at the place of the first of them. Append
    the new ones if no numbers are given."""
    gone = set(numbers)
    fresh = [item(text) for text in new]
    made: list[MemoryBlock] = []
    number = -1
    for block in blocks:
        number += block.is_entry
        if not block.is_entry or number not in gone:
            made.append(_ended(block))
        elif number == min(gone):
            made += fresh
    made = _apart(made)
    return [*made, *fresh] if not gone else made


def inserted(blocks: Sequence[MemoryBlock], after: int, text: str) -> list[MemoryBlock]:
    """Insert a new entry after the entry with this number; -1 inserts it before all entries."""
    number, made = -1, [_ended(block) for block in blocks]
    for place, block in enumerate(made):
        number += block.is_entry
        if number == after and block.is_entry:
            return _apart([*made[: place + 1], item(text), *made[place + 1 :]])
    first = next((n for n, block in enumerate(made) if block.is_entry), len(made))
    return _apart([*made[:first], item(text), *made[first:]])


def _ended(block: MemoryBlock) -> MemoryBlock:
    return (
        block
        if block.raw.endswith("\n") or not block.raw
        else MemoryBlock(block.kind, block.raw + "\n")
    )


def _apart(blocks: Sequence[MemoryBlock]) -> list[MemoryBlock]:
    """Keep exactly one blank line between blocks where Markdown needs one. Two blank lines become
    one, and a paragraph is kept apart from the item or paragraph above it."""
    made: list[MemoryBlock] = []
    for block in blocks:
        above = made[-1] if made else MemoryBlock("other", "")
        if _is_blank(above) and _is_blank(block) and made:
            continue
        if block.kind == "paragraph" and above.kind in ("item", "paragraph"):
            made.append(MemoryBlock("other", "\n"))
        made.append(block)
    return made


def _is_blank(block: MemoryBlock) -> bool:
    return not block.raw.strip()


def _lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _blocks(lines: list[str]) -> Iterator[MemoryBlock]:
    at = _front_matter(lines)
    if at:
        yield MemoryBlock("other", "".join(lines[:at]))
    while at < len(lines):
        kind, stop = _next(lines, at)
        yield MemoryBlock(kind, "".join(lines[at:stop]))
        at = stop


def _front_matter(lines: list[str]) -> int:
    if not lines or lines[0].strip() != "---":
        return 0
    for at, line in enumerate(lines[1:FRONT_MATTER_LINES_MAX], 1):
        if line.strip() == "---":
            return at + 1
    return 0


def _next(lines: list[str], at: int) -> tuple[Kind, int]:
    line = lines[at]
    if line.lstrip().startswith(_COMMENT):
        return "other", _until(lines, at, "-->")
    if fence := _FENCE.match(line):
        return "fenced", _closing(lines, at, fence[1])
    if _is_apart(line):
        return "other", at + 1
    is_item = _ITEM.match(line) is not None
    stop = at + 1
    while stop < len(lines) and _goes_on(lines[stop]):
        stop += 1
    return ("item" if is_item else "paragraph"), stop


def _is_apart(line: str) -> bool:
    return not line.strip() or any(shape.match(line) for shape in (_HEADING, _RULE))


def _goes_on(line: str) -> bool:
    opens = _ITEM.match(line) or _FENCE.match(line) or line.startswith(_COMMENT)
    return not opens and not _is_apart(line)


def _until(lines: list[str], at: int, end: str) -> int:
    for stop in range(at, len(lines)):
        if end in lines[stop]:
            return stop + 1
    return len(lines)


def _closing(lines: list[str], at: int, fence: str) -> int:
    for stop in range(at + 1, len(lines)):
        if lines[stop].strip().startswith(fence):
            return stop + 1
    return len(lines)
