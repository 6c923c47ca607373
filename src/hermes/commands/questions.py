"""`/approve` and `/deny`: the answer of the person who was asked, for exactly that call (C63)."""

import re

from hermes.commands.elsewhere import forwarded, lanes_for_this_chat, may_decide, speaks_here
from hermes.core.channel import Command, Desk, Obeyed, Order
from hermes.core.events import QuestionAnswered
from hermes.core.ids import CallId, TurnId
from hermes.core.rules import Busy
from hermes.core.session import Asking, Session
from hermes.core.transcript import SAID_NO

NOTHING_WAITS = "Nothing waits for an answer."
CLOSED = "That question is closed."
NOT_ASKED = "Only the person who was asked can answer that."
NOT_A_YES = "I did not take that for a yes. /approve allows it once, /deny refuses it."
ONCE = "Allowed this once. I do not remember an “always” yet, so I will ask again."
REASON_CHARS_MAX = 2_000
CALL_ID = re.compile(r"(?=[a-z]*\d)[0-9a-z]+-\d+")  # of any call; `/deny covid-19 …` is a reason
YES = {"": (), "once": (), "always": (ONCE,)}  # what may follow, and what is said to it


async def _approve(order: Order, desk: Desk) -> Obeyed:
    call, words = _given(order)
    if words.lower() not in YES:
        return _said(order, NOT_A_YES)
    phase = order.session.phase
    if not isinstance(phase, Asking) or call not in ("", phase.call):
        return await _elsewhere(order, desk, "/approve", call, words)
    if not may_decide(order, phase.turn):
        return _said(order, NOT_ASKED)
    granted = QuestionAnswered(phase.turn.id, phase.call, True, order.epoch, order.at)
    return Obeyed(events=(granted,), replies=tuple(map(order.reply, YES[words.lower()])))


async def _deny(order: Order, desk: Desk) -> Obeyed:
    call, words = _given(order)
    phase = order.session.phase
    if not isinstance(phase, Asking) or call not in ("", phase.call):
        return await _elsewhere(order, desk, "/deny", call, words)
    if not may_decide(order, phase.turn):
        return _said(order, NOT_ASKED)
    reason = f"{SAID_NO} Their reason: {words[:REASON_CHARS_MAX]}" if words else ""
    refused = QuestionAnswered(phase.turn.id, phase.call, False, order.epoch, order.at, reason)
    return Obeyed(events=(refused,))


def _given(order: Order) -> tuple[str, str]:
    """The call that was named, or none, and the words behind it."""
    first, *rest = order.argument.split(None, 1) or [""]
    phase = order.session.phase
    named = isinstance(phase, Asking) and first == phase.call
    if named or CALL_ID.fullmatch(first):
        return first, "".join(rest)
    return "", order.argument


async def _elsewhere(order: Order, desk: Desk, name: str, call: str, words: str) -> Obeyed:
    """The question was asked in this chat by another lane, or by none."""
    found = await (_asker(order, desk, call) if call else _askers(order, desk))
    if not found:
        return _said(order, CLOSED if call else NOTHING_WAITS)
    mine = [(lane, asking) for lane, asking in found if may_decide(order, asking.turn)]
    if not mine:
        return _said(order, NOT_ASKED)
    if len(mine) > 1:
        choices = "\n".join(f"{name} {asking.call}" for _, asking in mine)
        return _said(order, f"Several questions wait. Which one?\n{choices}")
    [(lane, asking)] = mine
    text = f"{name} {asking.call} {words}".strip()
    await desk.accept(forwarded(order, lane.key, text))
    return Obeyed()


async def _asker(order: Order, desk: Desk, call: str) -> list[tuple[Session, Asking]]:
    row = await desk.store.library.turn(TurnId(call.rpartition("-")[0]))
    if row is None or row.key == order.session.key:
        return []
    lane = await desk.store.journal.load(row.key)
    if not isinstance(lane.phase, Asking) or lane.phase.call != CallId(call):
        return []
    return [(lane, lane.phase)] if speaks_here(order, lane) else []


async def _askers(order: Order, desk: Desk) -> list[tuple[Session, Asking]]:
    lanes = await lanes_for_this_chat(order, desk, "asking")
    return [(lane, lane.phase) for lane in lanes if isinstance(lane.phase, Asking)]


def _said(order: Order, text: str) -> Obeyed:
    return Obeyed(replies=(order.reply(text),))


QUESTION_COMMANDS = (
    Command(
        name="/approve",
        busy=Busy.NOW,
        summary="Allow the call that waits for you, or only the one that is named",
        look=_approve,
        argument="[CALL]",
    ),
    Command(
        name="/deny",
        busy=Busy.NOW,
        summary="Refuse the call that waits for you, with a reason if you like",
        look=_deny,
        argument="[CALL] [REASON]",
    ),
)
