"""Recognise chat commands by their form, and list the commands of the terminal window."""

import re
from collections.abc import Iterable

from hermes.text.similar import likely
from hermes.views.scene import Offered

# `/etc/hosts is empty` is a sentence; `/hosts` is a command, perhaps one that does not exist.
COMMAND = re.compile(r"/[a-z][a-z0-9_-]{0,63}(@\w+)?", re.IGNORECASE)

# Commands that the terminal window runs itself, without the engine.
WINDOW_COMMANDS = (
    Offered(name="/skin", summary="Change how this window looks", argument="[NAME]"),
    Offered(name="/unfold", summary="Show the last call in full, or the Nth last", argument="[N]"),
    Offered(
        name="/mode",
        summary="Choose what a new message does to a running turn",
        argument="queue|steer|interrupt",
    ),
    Offered(name="/keys", summary="List the keys of this window"),
    Offered(name="/exit", summary="Leave; running work continues or waits, nothing is lost"),
)


def is_command(text: str) -> bool:
    """Return True if the text begins with a word in the form of a command."""
    words = text.split(None, 1)
    return text.startswith("/") and COMMAND.fullmatch(words[0]) is not None


def correction(name: str, known: Iterable[str], *, at_terminal: bool) -> str:
    """Return the notice about an unknown command, with the nearest known one."""
    own = [each.name for each in WINDOW_COMMANDS]
    if name in own:
        return f"{name} works only in the window: open it with hermes at a terminal."
    names = {each.removeprefix("/") for each in (*known, *(own if at_terminal else ()))}
    near = likely(name.removeprefix("/"), sorted(names))
    meant = f"Did you mean /{near[0]}? " if near else ""
    return f"There is no command {name}. {meant}/help lists all commands."
