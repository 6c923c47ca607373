"""What a command of the command line is made of. Nothing heavy is loaded here."""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from hermes.cli.errors import Usage

G_co = TypeVar("G_co", bound=Namespace, covariant=True)


class Command(Generic[G_co]):
    """One command. `given` is the typed form of what was written behind its words.

    No dataclass: importing those alone would double the time that --help takes.
    """

    def __init__(
        self,
        *,
        words: tuple[str, ...],
        summary: str,
        given: Callable[[], G_co],
        arguments: Callable[[ArgumentParser], object],
        more: str = "",
    ) -> None:
        self.words = words
        self.summary = summary
        self.given = given
        self.arguments = arguments
        self.more = more

    @property
    def name(self) -> str:
        return " ".join(self.words)

    def parser(self) -> ArgumentParser:
        parser = _Parser(
            prog=f"hermes {self.name}".rstrip(),
            description=self.summary + ".",
            epilog=self.more or None,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.arguments(parser)
        return parser

    def parse(self, words: list[str]) -> G_co:
        return self.parser().parse_args(words, self.given())


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message}. See: {self.prog} --help")


class Nothing(Namespace):
    """A command without arguments."""


class Shown(Namespace):
    json: bool
