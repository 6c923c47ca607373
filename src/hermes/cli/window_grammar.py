"""The words of the window: `hermes`, `hermes -c`, `hermes --session NAME`, `hermes --plain`."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Window:
    session: str | None
    latest: bool
    plain: bool


def _window(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--session", default=None, metavar="NAME", help="which conversation (default: main)"
    )
    parser.add_argument(
        "-c",
        "--continue",
        dest="latest",
        action="store_true",
        help="the conversation in a terminal that was used last",
    )
    parser.add_argument(
        "--plain", action="store_true", help="lines that come once, for a screen reader"
    )


# Without a word of its own, so it is not among the commands.
WINDOW = Command(
    words=(),
    summary="Talk, in a window in this terminal",
    given=Window,
    load=loaders.window,
    arguments=_window,
    more="docs/TERMINAL.md has the keys; so has /keys in the window.",
)
OPTIONS = ("-c", "--continue", "--session", "--plain")
