"""Print results on standard output and everything else on standard error.

Colours and tables as wide as the window are for terminals; a pipe gets plain aligned text.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from typing import TextIO

import msgspec
from msgspec import Struct

from hermes.cli.output.hints import as_called
from hermes.cli.output.wrapping import width_of, wrapped
from hermes.text.visible_text import visible

GAP = "  "

Rows = Sequence[Sequence[str]]
Drawn = Callable[[Sequence[str], Rows, int, Callable[[str], str]], Iterable[str]]


class Console(Struct, frozen=True, kw_only=True):
    """The streams of a command. `draw` lays out a table for a terminal; it is loaded with the first
    table."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str]
    draw: Drawn

    def say(self, text: str) -> None:
        """Print one result on a line of its own."""
        shown = self.fitted(text, self.stdout)
        self.write(shown if shown.endswith("\n") else f"{shown}\n")

    def fitted(self, text: str, stream: TextIO) -> str:
        """Wrap the text for a terminal; a pipe gets it as it is."""
        return wrapped(visible(text), self.width(stream)) if stream.isatty() else text

    def width(self, stream: TextIO) -> int:
        return width_of(stream, self.environ.get("COLUMNS", ""))

    def note(self, text: str) -> None:
        """Print something beside the result that a person must not overlook."""
        self.stderr.write(f"{self.fitted(text, self.stderr)}\n")
        self.stderr.flush()

    def advise(self, text: str) -> None:
        """Print a result that is a hint: it names the program as it was called."""
        self.say(as_called(text, self.environ))

    def write(self, text: str) -> None:
        shown = visible(text) if self.stdout.isatty() else text
        self.stdout.write(shown)
        self.stdout.flush()

    def tell(self, text: str) -> None:
        """Print a remark beside the result; its hints name the program as it was called."""
        self.pass_on(as_called(text, self.environ))

    def pass_on(self, text: str) -> None:
        """Print text of other programs beside the result, unchanged. A closed pipe is ignored."""
        shown = self.fitted(text, self.stderr)
        try:
            self.stderr.write(f"{self.dim(shown)}\n")
            self.stderr.flush()
        except OSError:
            give_up(self.stderr)

    def document(self, value: object) -> None:
        """Print one JSON document. Times in it must already be ISO texts."""
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def table(self, headings: Sequence[str], rows: Rows) -> None:
        cells = [[visible(" ".join(cell.split())) for cell in row] for row in rows]
        if self.stdout.isatty():
            dim = dimmed if self.colours(self.stdout) else str
            lines = self.draw(headings, cells, self.width(self.stdout), dim)
            self.stdout.write("".join(f"{line}\n" for line in lines))
        else:
            self.stdout.write(aligned(headings, cells))

    def dim(self, text: str) -> str:
        return dimmed(text) if self.colours(self.stderr) else text

    def head(self, text: str) -> None:
        """Print a heading."""
        shown = self.fitted(text, self.stdout)
        bold = self.colours(self.stdout)
        self.stdout.write(f"\x1b[1m{shown}\x1b[0m\n" if bold else f"{shown}\n")

    def colours(self, stream: TextIO) -> bool:
        dull = self.environ.get("NO_COLOR") or self.environ.get("TERM", "") in ("", "dumb")
        return stream.isatty() and not dull


def dimmed(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m"


def give_up(stream: TextIO) -> None:
    """Drop a stream that takes no more output, so that Python does not flush it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def aligned(headings: Sequence[str], rows: Rows) -> str:
    """Return columns padded with spaces; the last one keeps its length."""
    lines = [list(headings), *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(headings))]
    padded = (
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def standard(environ: Mapping[str, str], draw: Drawn) -> Console:
    """Return the console of this process's own streams; a stream that was closed at start is
    empty."""
    return Console(
        stdin=sys.stdin or StringIO(),
        stdout=sys.stdout or StringIO(),
        stderr=sys.stderr or StringIO(),
        environ=environ,
        draw=draw,
    )
