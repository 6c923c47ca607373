"""Every chat command, and `/help`, which tells of them what they declare."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from hermes.commands.background import BACKGROUND_COMMAND
from hermes.commands.compress import COMPRESS_COMMAND
from hermes.commands.conversations import CONVERSATION_COMMANDS
from hermes.commands.exchanges import EXCHANGE_COMMANDS
from hermes.commands.overview import overview_commands
from hermes.commands.people import PEOPLE_COMMANDS
from hermes.commands.place import place_commands
from hermes.commands.questions import QUESTION_COMMANDS
from hermes.commands.turns import turn_commands
from hermes.core.channel import Command, Obeyed, Order
from hermes.core.people import Role
from hermes.core.rules import Busy

Groups = Mapping[str, Sequence[Command]]
NO_SUCH = "There is no such command."
MORE = "Anything else that you write is a message. /help COMMAND tells about one."


def chat_commands(
    *,
    on_stop: Literal["keep", "reset"],
    default_model: str,
    choose: Callable[[str], str],
    more: Groups | None = None,
) -> tuple[Command, ...]:
    """What every chat understands. `choose` makes PROVIDER:MODEL of what was said, or raises
    Misconfigured or Rejected with a sentence for the person; `more` come from plugins, by the
    heading under which they are listed."""
    groups: dict[str, tuple[Command, ...]] = {}

    def is_command(name: str) -> bool:
        return any(name == command.name for some in groups.values() for command in some)

    groups["Conversations"] = (*CONVERSATION_COMMANDS, *EXCHANGE_COMMANDS, COMPRESS_COMMAND)
    groups["Work"] = (
        *turn_commands(on_stop, is_command),
        BACKGROUND_COMMAND,
        *QUESTION_COMMANDS,
    )
    groups["People"] = PEOPLE_COMMANDS
    groups |= {heading: tuple(commands) for heading, commands in (more or {}).items()}
    groups["Hermes"] = (
        *overview_commands(default_model),
        *place_commands(default_model, choose),
        Command(
            name="/help",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="List the commands, or tell about one",
            run=lambda order: _help(order, groups),
            argument="[COMMAND]",
        ),
    )
    return tuple(command for some in groups.values() for command in some)


def _help(order: Order, groups: Groups) -> Obeyed:
    if not order.argument:
        return Obeyed(replies=(order.reply("\n".join(_all(groups, order.role))),))
    name = "/" + order.argument.split()[0].removeprefix("/").lower()
    commands = (command for some in groups.values() for command in some)
    found = next((command for command in commands if command.name == name), None)
    text = _told(found) if found is not None else f"{NO_SUCH} /help lists all of them."
    return Obeyed(replies=(order.reply(text),))


def _all(groups: Groups, role: Role) -> Iterator[str]:
    for heading, commands in groups.items():
        own = [_told(command) for command in commands if role <= command.least]
        yield from (f"{heading}:", *own) if own else ()
    yield MORE


def _told(command: Command) -> str:
    return f"{command.name} {command.argument}".strip() + f": {command.summary}."
