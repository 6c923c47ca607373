"""Markdown as it is written: which of it is whole and can be shown for good. Pure.

A block ends at an empty line, a fenced one at its closing fence; what stands behind the last end
may still change its meaning with the next word.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

LIVE_CHARS_MAX = 8_000  # of one block that does not end: then a line's end is one
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")


class Block(NamedTuple):
    """One part of a text. Of code, `text` is what stands between the fences."""

    kind: Literal["prose", "heading", "code"]
    text: str
    detail: str = ""  # the language of code, the marks of a heading


def settled(text: str) -> int:
    """How many characters from the start will not change any more, whatever follows."""
    end, at, fence = 0, 0, ""
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        at += len(line)
        found = _FENCE.match(line)
        if fence:
            if found is not None and _closes(found, line, fence):
                fence, end = "", at
        elif found is not None:
            fence = found[1]
        elif not line.strip():
            end = at
    if len(text) - end > LIVE_CHARS_MAX and not fence:
        end = max(end, text.rfind("\n") + 1)
    return end


def blocks(text: str) -> Iterator[Block]:
    """All of it, part by part; a fence that was never closed reaches to the end."""
    prose: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        fence, heading = _FENCE.match(line), _HEADING.match(line)
        loose = not prose or not prose[-1].strip()
        if fence is not None and not (fence[1][0] == "`" and "`" in line[fence.end() :]):
            yield from _prose(prose)
            yield Block("code", "\n".join(_fenced(lines, fence[1])), fence[2])
        elif heading is not None:
            yield from _prose(prose)
            yield Block("heading", heading[2], heading[1])
        elif line.strip() and loose and prose and not _belongs(line, prose):
            yield from _prose(prose)
            prose.append(line)
        else:
            prose.append(line)
    yield from _prose(prose)


def _belongs(line: str, before: list[str]) -> bool:
    """Is it of the list that stands above an empty line?"""
    first = next((each for each in before if each.strip()), "")
    if _ITEM.match(first) is None:
        return False
    return _ITEM.match(line) is not None or _INDENTED.match(line) is not None


def _prose(lines: list[str]) -> Iterator[Block]:
    text = "\n".join(lines).strip("\n")
    lines.clear()
    if text.strip():
        yield Block("prose", text)


def _fenced(lines: Iterator[str], fence: str) -> Iterator[str]:
    for line in lines:
        found = _FENCE.match(line)
        if found is not None and _closes(found, line, fence):
            return
        yield line


def _closes(found: "re.Match[str]", line: str, fence: str) -> bool:
    same = found[1][0] == fence[0] and len(found[1]) >= len(fence)
    return same and not line[found.end(1) :].strip()
