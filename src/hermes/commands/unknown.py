"""Treat every word in the form of a command as one, and correct unknown ones.

Otherwise an unknown command would go to the model as a message, which costs tokens and does
something else than the person wanted.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.views.command_words import COMMAND, correction

TERMINAL = "local"  # the platform of a chat in a terminal
NOT_MEANT = "To send it as a message, put another word before it."
T = TypeVar("T")


class CheckedCommands(Mapping[str, T]):
    """A mapping of the known commands; for any other word in that form it returns
    `corrected(word)`."""

    def __init__(self, known: Mapping[str, T], corrected: Callable[[str], T]) -> None:
        self._known = known
        self._corrected = corrected

    def __getitem__(self, key: str) -> T:
        found = self._known.get(key)
        if found is not None:
            return found
        if COMMAND.fullmatch(key) is None:
            raise KeyError(key)
        return self._corrected(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def checked_commands(known: Mapping[str, Command]) -> Mapping[str, Command]:
    def corrected(name: str) -> Command:
        return Command(
            name=name,
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="",
            run=lambda call: _corrected(call, name, known),
        )

    return CheckedCommands(known, corrected)


def checked_busy(known: Mapping[str, Busy]) -> Mapping[str, Busy]:
    """Return the busy rules of the same commands."""
    return CheckedCommands(known, lambda _name: Busy.NOW)


def _corrected(call: CommandCall, name: str, known: Mapping[str, Command]) -> CommandResult:
    """Suggest a similar command, only among those that this person may use."""
    names = [each for each in known if call.role <= known[each].least]
    at_terminal = call.inbound.address.platform == TERMINAL
    text = correction(name, names, at_terminal=at_terminal)
    return CommandResult(replies=(call.reply(f"{text} {NOT_MEANT}"),))
