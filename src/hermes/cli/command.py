"""What a command of the command line consists of. Nothing heavy is imported here."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import asyncio
    from argparse import ArgumentParser

    from hermes.cli import parser as cli_parser
    from hermes.cli.context import CliContext
else:  # argparse weighs more than all our words, and many a call needs none of it
    asyncio = LazyModule("asyncio")
    cli_parser = LazyModule("hermes.cli.parser")

OptionsT = TypeVar("OptionsT")


class CliCommand(Generic[OptionsT]):
    """What a command takes and does. `options` is the typed form of its arguments; `arguments`
    declares them, and is None for a command without any; `run` does the work and returns the exit
    status, or is a coroutine that does.

    It is not a dataclass: importing those would double the time that --help takes.
    """

    def __init__(
        self,
        *,
        options: Callable[[], OptionsT],
        run: Callable[[OptionsT, "CliContext"], int | Coroutine[Any, Any, int]],
        arguments: Callable[["ArgumentParser"], object] | None = None,
        more: str = "",
    ) -> None:
        self.options = options
        self.run = run
        self.arguments = arguments
        self.more = more

    def parser(self, name: str, summary: str) -> "ArgumentParser":
        parser = cli_parser.CliParser(name=name, summary=summary, more=self.more)
        if self.arguments is not None:
            self.arguments(parser)
        return parser

    def parse(self, words: list[str], name: str = "", summary: str = "") -> OptionsT:
        """Parse the words. Raise UsageError; --help raises SystemExit."""
        options = self.options()
        if words or self.arguments is not None:
            self.parser(name, summary).parse_args(words, options)
        return options


class CommandEntry:
    """A command in the registry: its words, its line in --help, and the module whose COMMAND it
    is."""

    def __init__(self, words: tuple[str, ...], summary: str, module: str) -> None:
        self.words = words
        self.summary = summary
        self.module = module

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def command(self) -> CliCommand[object]:
        """Import the module, and return its command."""
        command: CliCommand[object] = LazyModule(self.module).COMMAND
        return command

    def parser(self) -> "ArgumentParser":
        return self.command.parser(self.name, self.summary)

    def run(self, words: list[str], here: Callable[[], "CliContext"]) -> int:
        """Run the command and return its exit status. Raise UsageError, and what the command
        raises."""
        command = self.command
        try:
            options = command.parse(words, self.name, self.summary)
        except SystemExit as answered:  # --help has been printed
            return int(answered.code or 0)
        result = command.run(options, here())
        return result if isinstance(result, int) else asyncio.run(result)


class NoOptions:
    """The options of a command without arguments."""


class JsonOptions:
    """The options of a command that can print one JSON document."""

    json: bool
