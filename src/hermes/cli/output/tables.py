"""Lay out a table for a terminal, as wide as its window.

Long cells are wrapped at words; without room for columns, each row becomes a few lines.
"""

from collections.abc import Callable, Iterator, Sequence

from hermes.cli.output.wrapping import cells_of, wrapped_line

GAP = 2
LAST_MIN = 20  # cells for the last column, or what it needs; with less there are no columns
LINES_MAX = 4  # of one cell


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    dim: Callable[[str], str],
) -> Iterator[str]:
    widths = [max(map(cells_of, column)) for column in zip(headings, *rows, strict=True)]
    left = width - sum(widths[:-1]) - GAP * (len(widths) - 1)
    if left < min(widths[-1], LAST_MIN):
        yield from _records(headings, rows, width, dim)
        return
    widths[-1] = min(widths[-1], left)
    yield dim(_row(headings, widths))
    for row in rows:
        first, *more = _cell(row[-1], widths[-1])
        yield _row((*row[:-1], first), widths)
        indent = " " * (width - left)
        yield from (f"{indent}{line}" for line in more)


def _records(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    dim: Callable[[str], str],
) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number:
            yield ""
        for heading, cell in zip(headings, row, strict=True):
            if cell:
                first, *more = wrapped_line(f"{heading}: {cell}", width)
                shown = first.removeprefix(heading)
                yield f"{dim(heading)}{shown}" if shown != first else first
                yield from more


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - cells_of(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return (" " * GAP).join(padded).rstrip()


def _cell(text: str, width: int) -> list[str]:
    """Return the cell's lines, each within the width. A longer word is broken."""
    lines = [piece for line in wrapped_line(text, width) for piece in _broken(line.strip(), width)]
    if len(lines) <= LINES_MAX:
        return lines
    last = lines[LINES_MAX - 1]
    while last and cells_of(last) >= width:
        last = last.rpartition(" ")[0] or last[:-1]
    return [*lines[: LINES_MAX - 1], f"{last}…"]


def _broken(line: str, width: int) -> Iterator[str]:
    while cells_of(line) > width:
        cut = next(n for n in range(len(line), 0, -1) if cells_of(line[:n]) <= width or n == 1)
        yield line[:cut]
        line = line[cut:]
    yield line
