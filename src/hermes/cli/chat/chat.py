"""hermes chat: send a message and print the answer; without a message, open the window."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.options import json_option
from hermes.cli.registry import WINDOW
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.cli.chat import ask, lent_model
    from hermes.cli.context import CliContext
else:
    ask = LazyModule("hermes.cli.chat.ask")
    lent_model = LazyModule("hermes.cli.chat.lent_model")


class ChatOptions(JsonOptions):
    text: list[str]
    query: str | None
    session: str | None
    latest: bool
    file: list[str]
    image: list[str]

    @property
    def says_nothing(self) -> bool:
        """Return True if the options only open a conversation, without a message."""
        return not (self.text or self.query is not None or self.file or self.image or self.json)


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("text", nargs="*", default=[], metavar="TEXT", help="your message")
    parser.add_argument(
        "-q", "--query", metavar="TEXT", help="the same; “-” reads it from standard input"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--session", default=None, metavar="NAME", help="which conversation (default: a new one)"
    )
    which.add_argument(
        "-c",
        "--continue",
        dest="latest",
        action="store_true",
        help="continue the latest conversation",
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH",
        help="attach a text file or a picture; may be repeated",
    )
    parser.add_argument(
        "--image", action="append", default=[], metavar="PATH", help="attach a picture"
    )
    json_option(parser)


def run(options: ChatOptions, context: "CliContext") -> int:
    console = context.console
    if options.says_nothing and console.stdin.isatty() and console.stdout.isatty():
        named = [] if options.session is None else [f"--session={options.session}"]
        return WINDOW.run(["-c"] if options.latest else named, lambda: context)
    return ask.run(options, lent_model.with_lent_model(context))


COMMAND = CliCommand(
    options=ChatOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes chat -q "What is in this folder?"
  hermes chat -q "And in the other one?" -c
  git diff | hermes chat -q -
  hermes chat -q "Is this right?" --file notes.txt --session work --json

Each chat begins a new conversation; -c continues the last one, and --session
the one of that name. The answer goes to standard output, everything else to
standard error. Ctrl+C stops the turn; an interrupted turn resumes with the
next message in its conversation.""",
)
