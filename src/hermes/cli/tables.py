"""A table on a terminal: as wide as the window, long cells cut, headings dimmed."""

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.console import Rows


def draw(headings: Sequence[str], rows: Rows, stream: TextIO) -> None:
    """The last column takes what is left of the width."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in headings[:-1]:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    table.add_column(headings[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=stream, highlight=False).print(table)
