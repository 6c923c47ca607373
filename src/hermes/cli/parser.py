"""argparse, in our words: what makes no sense is one sentence that says where to look."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import NoReturn

from hermes.cli.errors import Usage


class Parser(ArgumentParser):
    def __init__(self, *, name: str, summary: str, more: str) -> None:
        super().__init__(
            prog=f"hermes {name}".rstrip(),
            description=summary + ".",
            epilog=more or None,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message}. See: {self.prog} --help")
