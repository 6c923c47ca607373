"""What a command may say: results on standard output, everything else on standard error.

Colours and tables as wide as the window are for terminals; a pipe gets plain aligned text.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import TextIO

import msgspec
from msgspec import Struct

from hermes.views.honest import visible

GAP = "  "

Rows = Sequence[Sequence[str]]
Drawn = Callable[[Sequence[str], Rows, TextIO], None]


class Console(Struct, frozen=True, kw_only=True):
    """`draw` prints a table on a terminal; it is loaded when the first one is needed."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str]
    draw: Drawn

    def say(self, text: str) -> None:
        """One result, on a line of its own."""
        self.write(text if text.endswith("\n") else f"{text}\n")

    def write(self, text: str) -> None:
        shown = visible(text) if self.stdout.isatty() else text
        self.stdout.write(shown)
        self.stdout.flush()

    def tell(self, text: str) -> None:
        """A remark beside the result. That nobody is there to read it any more stops nothing."""
        shown = visible(text) if self.stderr.isatty() else text
        try:
            self.stderr.write(f"{self.dim(shown)}\n")
            self.stderr.flush()
        except OSError:
            give_up(self.stderr)

    def document(self, value: object) -> None:
        """One JSON document. Times in it are ISO texts already."""
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def table(self, headings: Sequence[str], rows: Rows) -> None:
        cells = [[visible(" ".join(cell.split())) for cell in row] for row in rows]
        if self.stdout.isatty():
            self.draw(headings, cells, self.stdout)
        else:
            self.stdout.write(aligned(headings, cells))

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colours(self.stderr) else text

    def head(self, text: str) -> None:
        """A line that stands above others."""
        bold = self.colours(self.stdout)
        self.stdout.write(f"\x1b[1m{visible(text)}\x1b[0m\n" if bold else f"{text}\n")

    def colours(self, stream: TextIO) -> bool:
        dull = self.environ.get("NO_COLOR") or self.environ.get("TERM", "") in ("", "dumb")
        return stream.isatty() and not dull


def give_up(stream: TextIO) -> None:
    """It takes nothing more; Python must not try again at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def aligned(headings: Sequence[str], rows: Rows) -> str:
    """Columns padded with spaces; the last one as long as it is."""
    lines = [list(headings), *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(headings))]
    padded = (
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def standard(environ: Mapping[str, str], draw: Drawn) -> Console:
    """On this process's own streams; one that was closed before we began is an empty one."""
    return Console(
        stdin=sys.stdin or StringIO(),
        stdout=sys.stdout or StringIO(),
        stderr=sys.stderr or StringIO(),
        environ=environ,
        draw=draw,
    )
