"""The words of `hermes chat` and `hermes send`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Chat(Shown):
    query: str | None
    session: str
    image: list[str]


class Send(Shown):
    target: str
    text: list[str]
    file: list[str]


def _chat(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "-q", "--query", metavar="TEXT", help="what to say; “-” reads it from standard input"
    )
    parser.add_argument(
        "--session", default="main", metavar="NAME", help="which conversation (default: main)"
    )
    parser.add_argument(
        "--image", action="append", default=[], metavar="PATH", help="send a picture along"
    )
    json_option(parser)


def _send(parser: "ArgumentParser") -> None:
    parser.add_argument("target", help="home, PLATFORM, PLATFORM:CHAT[:THREAD] or PLATFORM:NAME")
    parser.add_argument(
        "text", nargs="*", default=[], help="what to say; - or nothing reads standard input"
    )
    parser.add_argument("--file", action="append", default=[], help="a file to send along")
    json_option(parser)


CHAT = Command(
    words=("chat",),
    summary="Say something and print the answer",
    given=Chat,
    load=loaders.chat,
    arguments=_chat,
    more="""examples:
  hermes chat -q "What is in this folder?"
  git diff | hermes chat -q -
  hermes chat -q "And in the other one?" --session work --json

The answer goes to standard output, everything else to standard error. Ctrl+C
stops the turn; a turn that was cut off goes on the next time.""",
)
SEND = Command(
    words=("send",),
    summary="Send a message to a chat",
    given=Send,
    load=loaders.send,
    arguments=_send,
    more="""examples:
  hermes send home "The build is done"
  hermes send telegram:12345 "On my way"
  make 2>&1 | tail | hermes send home -""",
)
