"""`/approve` and `/deny`: the owner's answer, about exactly the call that was shown (C63)."""

import re

from hermes.commands.elsewhere import by_owner, forwarded
from hermes.core.channel import Command, Desk, Obeyed, Order
from hermes.core.events import QuestionAnswered
from hermes.core.people import sender_of
from hermes.core.projection import QuestionRow
from hermes.core.rules import Busy
from hermes.core.session import Asking
from hermes.core.transcript import SAID_NO

NOTHING_WAITS = "Nothing waits for an answer."
NO_SUCH = "There is no such question."
CLOSED = "That question is closed: {}."
SEVERAL = "Several questions wait. Name one by its id, or ask me in a chat with me alone."
NOT_A_YES = "I did not take that for a yes. /approve allows it once, /deny refuses it."
ONCE = "Allowed this once. “Always” is not possible for such a call, so I will ask again."
ALWAYS = "Allowed, now and for such calls. `hermes approvals grants` lists what you have allowed."
REASON_CHARS_MAX = 2_000
LISTED_MAX = 20
ID = re.compile(r"[0-9a-f]{32}")  # of any question; `/deny covid-19 …` is a reason
YES = ("", "once", "always")


async def _approve(order: Order, desk: Desk) -> Obeyed:
    id_, words = _given(order)
    phase = order.session.phase
    if words.lower() not in YES:
        return _said(order, NOT_A_YES)
    if not isinstance(phase, Asking) or id_ not in ("", phase.question):
        return await _elsewhere(order, desk, "/approve", id_, words)
    wanted = words.lower() == "always"
    answered = QuestionAnswered(
        turn=phase.turn.id,
        call=phase.call,
        granted=True,
        epoch=order.epoch,
        at=order.at,
        by=sender_of(order.inbound).name,
        grant=phase.offer if wanted else None,
    )
    told = (ALWAYS if phase.offer is not None else ONCE,) if wanted else ()
    return Obeyed(events=(answered,), replies=tuple(map(order.reply, told)))


async def _deny(order: Order, desk: Desk) -> Obeyed:
    id_, words = _given(order)
    phase = order.session.phase
    if not isinstance(phase, Asking) or id_ not in ("", phase.question):
        return await _elsewhere(order, desk, "/deny", id_, words)
    reason = f"{SAID_NO} Their reason: {words[:REASON_CHARS_MAX]}" if words else ""
    answered = QuestionAnswered(
        turn=phase.turn.id,
        call=phase.call,
        granted=False,
        epoch=order.epoch,
        at=order.at,
        text=reason,
        by=sender_of(order.inbound).name,
    )
    return Obeyed(events=(answered,))


def _given(order: Order) -> tuple[str, str]:
    """The question that was named, or none, and the words behind it."""
    first, *rest = order.argument.split(None, 1) or [""]
    phase = order.session.phase
    named = isinstance(phase, Asking) and first and first == phase.question
    if named or ID.fullmatch(first):
        return first, "".join(rest)
    return "", order.argument


async def _elsewhere(order: Order, desk: Desk, name: str, id_: str, words: str) -> Obeyed:
    """Another session asked, or none did."""
    library = desk.store.library
    if id_:
        row = await library.question(id_)
        waits = [row] if row is not None and row.state == "pending" else []
        if not waits:
            return _said(order, NO_SUCH if row is None else CLOSED.format(_ending(row)))
    else:
        waits = list(await library.questions(limit=LISTED_MAX, pending=True))
    if not waits:
        return _said(order, NOTHING_WAITS)
    if len(waits) > 1 and not by_owner(order):
        return _said(order, SEVERAL)
    if len(waits) > 1:
        lines = [f"{name} {row.id}  ({row.tool}: {row.why})" for row in waits]
        return _said(order, "\n".join(["Several questions wait. Which one?", *lines]))
    [row] = waits
    if row.key == order.session.key:  # it is asked by now, or was a moment ago
        return _said(order, CLOSED.format("another one is asked now"))
    await desk.accept(forwarded(order, row.key, f"{name} {row.id} {words}".strip()))
    return Obeyed()


def _ending(row: QuestionRow) -> str:
    by = f" by {row.decided_by}" if row.decided_by else ""
    return f"{row.state}{by}"


def _said(order: Order, text: str) -> Obeyed:
    return Obeyed(replies=(order.reply(text),))


QUESTION_COMMANDS = (
    Command(
        name="/approve",
        busy=Busy.NOW,
        summary="Allow the call that waits for you, or the one that is named; always: such calls",
        look=_approve,
        argument="[ID] [always]",
    ),
    Command(
        name="/deny",
        busy=Busy.NOW,
        summary="Refuse the call that waits for you, with a reason if you like",
        look=_deny,
        argument="[ID] [REASON]",
    ),
)
