"""`/personality`: how the agent speaks in this chat."""

from collections.abc import Mapping

from hermes.commands.words import first_words
from hermes.core.channel import Command, Obeyed, Order
from hermes.core.events import Event, FactSet
from hermes.core.people import Role
from hermes.core.rules import Busy

FACT = "personality"
NONE = "none"
SHOWN_CHARS_MAX = 70
LISTED_MAX = 40
HOW = "/personality NAME changes it, /personality none goes without."


def _personality(order: Order, known: Mapping[str, str], default: str) -> Obeyed:
    current = order.session.facts.get(FACT, "") or default
    if not order.argument:
        return _said(order, f"{_now(current, known)} {HOW}\n{_listed(known)}")
    wanted = order.argument.lower()
    if wanted != NONE and wanted not in known:
        problem = f"There is no personality “{first_words(order.argument)}”; it stays as it is."
        return _said(order, f"{problem}\n{_listed(known)}")
    if wanted == current or (wanted == NONE and not current):
        return _said(order, f"{_now(current, known)} It stays so.")
    text = f"From now on: {wanted}."
    if wanted == NONE:
        text = "From now on I speak without a personality."
    return Obeyed(events=_changed(order, wanted, default), replies=(order.reply(text),))


def _changed(order: Order, wanted: str, default: str) -> tuple[Event, ...]:
    """What is meant by default is not remembered. The prompt that was kept holds no more."""
    value = "" if wanted == (default or NONE) else wanted
    return FactSet(FACT, value, order.at), FactSet("prompt", "", order.at)


def _now(current: str, known: Mapping[str, str]) -> str:
    if not current or current == NONE:
        return "I speak without a personality here."
    if current not in known:
        return f"The personality here is {current}, which is gone from the settings."
    return f"The personality here is {current}."


def _listed(known: Mapping[str, str]) -> str:
    names = list(known)[:LISTED_MAX]
    lines = [f"{name}: {first_words(known[name], SHOWN_CHARS_MAX)}" for name in names]
    if len(known) > LISTED_MAX:
        lines.append(f"… and {len(known) - LISTED_MAX} more")
    return "\n".join(lines)


def _said(order: Order, text: str) -> Obeyed:
    return Obeyed(replies=(order.reply(text),))


def personality_command(known: Mapping[str, str], default: str) -> Command:
    """`known` is name to text; `default` the one that holds where nothing was chosen, or ""."""
    return Command(
        name="/personality",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="List the ways I can speak, or choose one",
        run=lambda order: _personality(order, known, default),
        argument="[NAME]",
    )
