"""`/personality`: choose how the agent speaks in this chat."""

from collections.abc import Mapping

from hermes.commands.words import first_words
from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.events import Event, FactSet
from hermes.core.people import Role
from hermes.core.rules import Busy

FACT = "personality"
NONE = "none"
SHOWN_CHARS_MAX = 70
LISTED_MAX = 40
HOW = "/personality NAME changes it, /personality none turns it off."


def _personality(call: CommandCall, known: Mapping[str, str], default: str) -> CommandResult:
    current = call.session.facts.personality or default
    if not call.argument:
        return _said(call, f"{_now(current, known)} {HOW}\n{_listed(known)}")
    wanted = call.argument.lower()
    if wanted != NONE and wanted not in known:
        problem = f"There is no personality “{first_words(call.argument)}”; it stays as it is."
        return _said(call, f"{problem}\n{_listed(known)}")
    if wanted == current or (wanted == NONE and not current):
        return _said(call, f"{_now(current, known)} Nothing was changed.")
    text = f"From now on: {wanted}."
    if wanted == NONE:
        text = "The personality is now off."
    return CommandResult(events=_changed(call, wanted, default), replies=(call.reply(text),))


def _changed(call: CommandCall, wanted: str, default: str) -> tuple[Event, ...]:
    """Return the events of the choice. The default is not stored; the cached prompt is dropped."""
    value = "" if wanted == (default or NONE) else wanted
    return FactSet(FACT, value, call.at), FactSet("prompt", "", call.at)


def _now(current: str, known: Mapping[str, str]) -> str:
    if not current or current == NONE:
        return "No personality is set here."
    if current not in known:
        return f"The personality here is {current}, which is no longer in the settings."
    return f"The personality here is {current}."


def _listed(known: Mapping[str, str]) -> str:
    names = list(known)[:LISTED_MAX]
    lines = [f"{name}: {first_words(known[name], SHOWN_CHARS_MAX)}" for name in names]
    if len(known) > LISTED_MAX:
        lines.append(f"… and {len(known) - LISTED_MAX} more")
    return "\n".join(lines)


def _said(call: CommandCall, text: str) -> CommandResult:
    return CommandResult(replies=(call.reply(text),))


def personality_command(known: Mapping[str, str], default: str) -> Command:
    """Return the command. `known` maps name to text; `default` is used where none was chosen, or
    ""."""
    return Command(
        name="/personality",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="List the personalities, or choose one",
        run=lambda call: _personality(call, known, default),
        argument="[NAME]",
    )
