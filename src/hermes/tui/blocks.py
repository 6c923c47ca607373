"""Split an answer into Markdown blocks, and find how much of it is final while it streams. Pure.

A block ends at an empty line, a fenced one at its closing fence; text behind the last end may still
change its meaning with the next word. Lines stay the lines that the model wrote.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

LIVE_CHARS_MAX = 8_000  # of one block that does not end: then a line's end is one
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,})[ \t]*$")
_CELLS = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?[ \t]*)?$")
ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")


class MarkdownBlock(NamedTuple):
    """One block of a text. For code, `text` is what stands between the fences."""

    kind: Literal["prose", "heading", "code", "table", "rule"]
    text: str
    detail: str = ""  # what stands behind the fence of code, the marks of a heading


def settled(text: str) -> int:
    """Return how many characters from the start are final, whatever follows.

    An indented line behind an empty line may belong to the list above it, so a list ends only where
    the next line begins.
    """
    end, at, fence, listed, maybe = 0, 0, "", False, 0
    for line in text.split("\n"):
        if maybe and line and not line[0].isspace():
            end, listed, maybe = max(end, maybe), False, 0
        if at + len(line) == len(text):
            break  # it may go on
        at += len(line) + 1
        if fence:
            if not _closes(line, fence):
                continue
            fence = ""
        elif (opening := _opening(line)) is not None:
            fence, maybe = opening[1], 0
            continue
        elif line.strip():
            listed, maybe = _in_list(line, before=listed), 0
            continue
        end, maybe = (end, at) if listed else (at, 0)
    if len(text) - end > LIVE_CHARS_MAX and not fence:
        end = max(end, text.rfind("\n") + 1)
    return end


def blocks(text: str) -> Iterator[MarkdownBlock]:
    """Yield the text block by block. A fence that was never closed reaches to the end."""
    lines, at, listed = text.split("\n"), 0, False
    prose: list[str] = []
    while at < len(lines):
        line, alone = lines[at], not prose
        found, after = _find_block(lines, at, alone=alone, listed=listed)
        if found is not None:
            yield from _prose(prose)
            yield found
            at = after
            continue
        at += 1
        if line.strip():
            prose.append(line)
            listed = _in_list(line, before=listed)
        else:
            yield from _prose(prose)
    yield from _prose(prose)


def _find_block(
    lines: Sequence[str], at: int, *, alone: bool, listed: bool
) -> tuple[MarkdownBlock | None, int]:
    """Return the block that begins here, unless it is prose, and where it ends. `alone`: no text is
    right above; `listed`: a list is above, to which indented lines belong."""
    line = lines[at]
    if (fence := _opening(line)) is not None:
        found, end = _fenced(lines, at, fence)
        empty = MarkdownBlock(
            "prose", "\n".join(lines[at:end])
        )  # no style could take its marks' place
        return (found if found.text.strip() else empty), end
    if (heading := _HEADING.match(line)) is not None:
        return MarkdownBlock("heading", heading[2], heading[1]), at + 1
    if alone and _RULE.match(line) is not None:
        return MarkdownBlock("rule", line.strip()), at + 1
    if alone and not listed and _INDENTED.match(line) is not None:
        end = at
        while end < len(lines) and (_INDENTED.match(lines[end]) or not lines[end].strip()):
            end += 1
        return MarkdownBlock("code", "\n".join(lines[at:end]).rstrip()), end
    if _begins_table(lines, at):
        end = at + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        return MarkdownBlock("table", "\n".join(lines[at:end])), end
    return None, at


def _begins_table(lines: Sequence[str], at: int) -> bool:
    if "|" not in lines[at] or at + 1 == len(lines) or _CELLS.match(lines[at + 1]) is None:
        return False
    return len(cells(lines[at])) == len(cells(lines[at + 1]))


def cells(row: str) -> Sequence[str]:
    """Return the cells of a table row, as written. A bar behind a backslash does not separate
    cells."""
    inner = row.strip().removeprefix("|")
    parts = re.split(r"(?<!\\)\|", inner)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [part.strip() for part in parts]


def _in_list(line: str, *, before: bool) -> bool:
    return ITEM.match(line) is not None or (before and line[:1].isspace())


def _prose(lines: list[str]) -> Iterator[MarkdownBlock]:
    text = "\n".join(lines)
    lines.clear()
    if text.strip():
        yield MarkdownBlock("prose", text)


def _fenced(lines: Sequence[str], at: int, fence: "re.Match[str]") -> tuple[MarkdownBlock, int]:
    end = at + 1
    while end < len(lines) and not _closes(lines[end], fence[1]):
        end += 1
    indent = len(fence[0]) - len(fence[0].lstrip())
    inner = [_dedent(line, indent) for line in lines[at + 1 : end]]
    return MarkdownBlock("code", "\n".join(inner), fence[2].strip()), end + 1


def _dedent(line: str, columns: int) -> str:
    """Return the line without the indentation of its fence, for example in a list."""
    blanks = len(line) - len(line.lstrip(" \t"))
    return line[min(columns, blanks) :]


def _opening(line: str) -> "re.Match[str] | None":
    """Match a fence that opens a code block. With backticks behind it, it is inline code."""
    found = _FENCE.match(line)
    return None if found is None or (found[1][0] == "`" and "`" in found[2]) else found


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and bare == fence[0] * len(bare)
