"""An answer on an emulated terminal, and whether every visible character of it stands there.

A *visible character* is one that is not white space. All of those that the model wrote are on the
screen, in their order, as they were written. What may be missing is a mark of Markdown in whose
place a style stands, and only next to a character that has the style:

- `*` next to bold or italic, `~` next to struck-out, a backtick next to code;
- `[` and `]` next to a link that is underlined (where it leads stands behind it);
- `#` at the start and the end of a heading, next to bold;
- the marks of a fence whose code is not empty (what else is in its line is shown);
- a line of nothing but `-` or `*`, three or more, in whose place a line is drawn.

White space may differ: rows are wrapped at words, and exactly one empty row stands between blocks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyte

from hermes.core.signals import Recorded, Signal, TextDelta
from hermes.tui.board import Board
from hermes.tui.pen import Pen
from hermes.tui.skins import Skin
from unit.tui.events import KEY, TURN, answered, started

ROWS = 400
Cell = pyte.screens.Char
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)$")
_RULE = re.compile(r"(?:-{3,}|\*{3,})$")


@dataclass(frozen=True)
class Wanted:
    """A character of the answer. `rule`: of a line that may be drawn; `fence`: of a fence."""

    char: str
    rule: bool = False
    fence: bool = False
    hash: bool = False


def on_screen(pieces: Sequence[str], skin: Skin, columns: int) -> Sequence[Cell]:
    """The visible cells after these pieces have streamed in, and the answer was committed."""
    screen = pyte.Screen(columns, ROWS)
    stream, pen = pyte.Stream(screen), Pen(skin, 24)
    board = Board(clock=lambda: 1.0)
    board.position = 0
    glimpses = [
        Recorded((started("m1"),), 1),
        *(TextDelta(piece) for piece in pieces),
        Recorded((answered("".join(pieces)),), 2),
    ]
    for glimpse in glimpses:
        shown = list(board.hear(Signal(KEY, TURN, glimpse)))
        if shown:
            stream.feed(pen.draw(shown, columns, 1.0).replace("\n", "\r\n"))
        pen.live(board.live, columns, 10)
    assert screen.cursor.y < ROWS - 1, "the test's screen is too small"
    rows = [[screen.buffer[y][x] for x in range(columns)] for y in range(screen.cursor.y + 1)]
    return [cell for row in rows for cell in row if cell.data.strip()]


def missing(answer: str, cells: Sequence[Cell], skin: Skin) -> str:
    """What of the answer is not on the screen; "" when nothing is."""
    wanted = list(_wanted(answer))
    open_, seen, best = [(0, 0)], {(0, 0)}, 0
    while open_:
        i, j = open_.pop()
        best = max(best, i)
        if i == len(wanted) and j == len(cells):
            return ""
        for following in _steps(wanted, cells, i, j, skin):
            if following not in seen:
                seen.add(following)
                open_.append(following)
    shown = "".join(cell.data for cell in cells)
    return f"{''.join(w.char for w in wanted[best : best + 20])!r} of {answer!r} in {shown!r}"


def _steps(
    wanted: Sequence[Wanted], cells: Sequence[Cell], i: int, j: int, skin: Skin
) -> list[tuple[int, int]]:
    steps = []
    here = cells[j] if j < len(cells) else None
    if i < len(wanted) and wanted[i].rule and here is not None and here.data == "─":
        steps += [(i + 1, j), (i, j + 1)]
    if here is not None and here.data == "─" and i and wanted[i - 1].rule:
        steps.append((i, j + 1))
    if i < len(wanted):
        around = [*([cells[j - 1]] if j else []), *([here] if here is not None else [])]
        if wanted[i].fence or any(_stands_for(cell, wanted[i], skin) for cell in around):
            steps.append((i + 1, j))
        if here is not None and here.data == wanted[i].char:
            steps.append((i + 1, j + 1))
    return steps


def _stands_for(cell: Cell, mark: Wanted, skin: Skin) -> bool:
    match mark.char:
        case "*":
            return bool(cell.bold or cell.italics)
        case "~":
            return bool(cell.strikethrough)
        case "`":
            return bool(cell.fg == skin.accent.removeprefix("#") or cell.bold)
        case "[" | "]":
            return bool(cell.underscore)
        case "#":
            return mark.hash and bool(cell.bold)
        case _:
            return False


def _wanted(answer: str) -> list[Wanted]:
    found: list[Wanted] = []
    lines = answer.split("\n")
    fences = _fences(lines)
    open_engine = {n for start, end in fences for n in range(start, end + 1)}
    for n, line in enumerate(lines):
        mark = _FENCE.match(line)
        edge = mark is not None and any(n in (start, end) for start, end in fences)
        heading = n not in open_engine and re.match(r" {0,3}#{1,6}[ \t]", line) is not None
        for at, char in enumerate(line):
            if char.isspace():
                continue
            fence = edge and mark is not None and mark.start(1) <= at < mark.end(1)
            rule = n not in open_engine and _RULE.match(line.strip()) is not None
            found.append(Wanted(char, rule=rule, fence=fence, hash=heading))
    return found


def _fences(lines: Sequence[str]) -> list[tuple[int, int]]:
    """From which line to which there is code between fences, and not only blanks."""
    found, at = [], 0
    while at < len(lines):
        mark = _FENCE.match(lines[at])
        if mark is None or (mark[1][0] == "`" and "`" in mark[2]):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not _closes(lines[end], mark[1]):
            end += 1
        if "".join(lines[at + 1 : end]).strip():
            found.append((at, min(end, len(lines) - 1)))
        at = end + 1
    return found


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}
