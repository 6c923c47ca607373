"""List all chat commands, and explain them with `/help`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from hermes.commands.agents import AGENTS_COMMAND
from hermes.commands.background import BACKGROUND_COMMAND
from hermes.commands.compress import COMPRESS_COMMAND
from hermes.commands.conversations import CONVERSATION_COMMANDS
from hermes.commands.exchanges import EXCHANGE_COMMANDS
from hermes.commands.goal import GOAL_COMMAND
from hermes.commands.overview import overview_commands
from hermes.commands.people import PEOPLE_COMMANDS
from hermes.commands.place import TryModel, place_commands
from hermes.commands.questions import QUESTION_COMMANDS
from hermes.commands.turns import turn_commands
from hermes.commands.unknown import TERMINAL
from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.views.command_words import WINDOW_COMMANDS, correction
from hermes.views.scene import Offered
from hermes.views.suggestions import IN_CHAT, suggested

Groups = Mapping[str, Sequence[Command]]
IN_WINDOW = "Only in the window of a terminal"
WELCOME = f"""\
Hello! I am Hermes, your own AI agent.
Just write to me. I can answer, run commands, and work with files and web pages.
Before I do anything risky I ask you; /approve means yes, /deny means no.
/new begins a new conversation, /stop stops what I am doing.
/help lists all commands.
{suggested(IN_CHAT)}"""
MORE = "Everything else you write is a message. /help COMMAND explains one command."


def chat_commands(
    *,
    on_stop: Literal["keep", "reset"],
    default_model: str,
    choose: Callable[[str], str],
    try_model: TryModel | None = None,
    more: Groups | None = None,
) -> tuple[Command, ...]:
    """Return the commands of every chat. `choose` resolves text to PROVIDER:MODEL, or raises
    Misconfigured or Rejected with a sentence for the person; `try_model` asks that model something
    and raises if it fails; `more` are commands of plugins, by heading."""
    groups: dict[str, tuple[Command, ...]] = {}

    def is_command(name: str) -> bool:
        return any(name == command.name for some in groups.values() for command in some)

    groups["Conversations"] = (*CONVERSATION_COMMANDS, *EXCHANGE_COMMANDS, COMPRESS_COMMAND)
    groups["Work"] = (
        *turn_commands(on_stop, is_command),
        BACKGROUND_COMMAND,
        AGENTS_COMMAND,
        GOAL_COMMAND,
        *QUESTION_COMMANDS,
    )
    groups["People"] = PEOPLE_COMMANDS
    groups |= {heading: tuple(commands) for heading, commands in (more or {}).items()}
    groups["Hermes"] = (
        *overview_commands(default_model),
        *place_commands(default_model, choose, try_model=try_model),
        Command(
            name="/start",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Say hello and explain how to begin",
            run=lambda call: CommandResult(replies=(call.reply(WELCOME),)),
        ),
        Command(
            name="/help",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="List the commands, or explain one",
            run=lambda call: _help(call, groups),
            argument="[COMMAND]",
        ),
    )
    return tuple(command for some in groups.values() for command in some)


def _help(call: CommandCall, groups: Groups) -> CommandResult:
    at_terminal = call.inbound.address.platform == TERMINAL
    if not call.argument:
        lines = _all(groups, call.role, at_terminal=at_terminal)
        return CommandResult(replies=(call.reply("\n".join(lines)),))
    name = "/" + call.argument.split()[0].removeprefix("/").lower()
    known = {command.name: command for some in groups.values() for command in some}
    own = {each.name: each for each in WINDOW_COMMANDS}
    if found := known.get(name) or own.get(name):
        window = f" ({IN_WINDOW})" if name not in known else ""
        text = f"{_told(found)}{window}"
    else:
        text = correction(name, known, at_terminal=at_terminal)
    return CommandResult(replies=(call.reply(text),))


def _all(groups: Groups, role: Role, *, at_terminal: bool) -> Iterator[str]:
    for heading, commands in groups.items():
        own = [_told(command) for command in commands if role <= command.least]
        yield from (f"{heading}:", *own) if own else ()
    if at_terminal:
        yield from ("Only in the window:", *map(_told, WINDOW_COMMANDS))
    elif role is Role.OWNER:
        yield f"{IN_WINDOW}: {', '.join(each.name for each in WINDOW_COMMANDS)}."
    yield MORE


def _told(command: Command | Offered) -> str:
    return f"{command.name} {command.argument}".strip() + f": {command.summary}."
