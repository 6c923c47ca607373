"""argparse with our messages: an error is one sentence that says where to look."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import NoReturn

from hermes.cli.errors import UsageError
from hermes.cli.output.hints import as_called
from hermes.cli.output.wrapping import WIDTH, width_of, wrapped

OPTION_CELLS, HELP_CELLS_MIN = 24, 24


class WordFormatter(RawDescriptionHelpFormatter):
    """Wrap help at words, at any width: in a narrow terminal an option's help is below it."""

    def __init__(self, prog: str) -> None:
        terminal = sys.stdout is not None and sys.stdout.isatty()
        width = (width_of(sys.stdout) if terminal else WIDTH) - 2
        room = width - OPTION_CELLS >= HELP_CELLS_MIN
        super().__init__(prog, width=width, max_help_position=OPTION_CELLS if room else 4)

    def format_help(self) -> str:
        """Return the help with its usage wrapped at words, which argparse breaks only between
        options."""
        return wrapped(super().format_help(), self._width + 2)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width).split("\n")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return wrapped("\n".join(f"{indent}{line}" for line in text.splitlines()), width)


class CliParser(ArgumentParser):
    def __init__(self, *, name: str, summary: str, more: str) -> None:
        super().__init__(
            prog=f"hermes {name}".rstrip(),
            description=summary + ".",
            epilog=more or None,
            formatter_class=WordFormatter,
            allow_abbrev=False,
        )

    def format_help(self) -> str:
        return as_called(super().format_help())

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See: {self.prog} --help")
