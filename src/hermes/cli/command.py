"""What a command of the command line is made of. Nothing heavy is loaded here."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.cli.place import Place

G_co = TypeVar("G_co", covariant=True)


class Command(Generic[G_co]):
    """One command. `given` is the typed form of what was written behind its words; `arguments`
    says what may be written there, and is None where nothing may; `load` brings what does the work.

    No dataclass: importing those alone would double the time that --help takes.
    """

    def __init__(
        self,
        *,
        words: tuple[str, ...],
        summary: str,
        given: Callable[[], G_co],
        load: Callable[[], Callable[[G_co, "Place"], int]],
        arguments: Callable[["ArgumentParser"], object] | None = None,
        more: str = "",
    ) -> None:
        self.words = words
        self.summary = summary
        self.given = given
        self._load = load
        self.arguments = arguments
        self.more = more

    @property
    def name(self) -> str:
        return " ".join(self.words)

    def parser(self) -> "ArgumentParser":
        # Imported here: argparse weighs more than all our words, and many a call needs none of it.
        from hermes.cli.parser import Parser

        parser = Parser(name=self.name, summary=self.summary, more=self.more)
        if self.arguments is not None:
            self.arguments(parser)
        return parser

    def parse(self, words: list[str]) -> G_co:
        """Raises Usage; --help is answered by SystemExit."""
        given = self.given()
        if words or self.arguments is not None:
            self.parser().parse_args(words, given)
        return given

    def run(self, words: list[str], here: Callable[[], "Place"]) -> int:
        """To its exit status. Raises Usage, and what the command raises."""
        try:
            given = self.parse(words)
        except SystemExit as answered:  # --help has been printed
            return int(answered.code or 0)
        return self._load()(given, here())


class Nothing:
    """A command without arguments."""


class Shown:
    json: bool
