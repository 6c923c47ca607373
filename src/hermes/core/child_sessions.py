"""Sessions that do a part of another session's work: their names, their last words, their end.

Such a session speaks to an address on the platform `call`: the chat is the session that waits, the
thread is its deferred call, or a part of it. Its last word becomes the call's result, whichever
process is there by then. When the turn that waits is over, the same way leads back: a message on
that platform ends what still works for it.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import CallId, MessageId, ReplyId, SessionKey, name_of, session_key
from hermes.core.messages import (
    Address,
    CallSettlement,
    Inbound,
    Outcome,
    Person,
    Reply,
    Spent,
    TurnReport,
    Usage,
)
from hermes.core.people import derived
from hermes.core.session import Running, Session, Turn, works

UNREAD = "unread"  # label of a relay for the person alone: no model reads it
CALL = "call"  # the platform of results
CHILD = "child"  # and that of the sessions that bring them
RESULT_CHARS_MAX = 90_000
NO_TEXT = "(It ended without a word.)"
BACKGROUND = "delegated"  # the account of reports; no channel has it
MARK = "A report of another model, not a fact: check what matters."
STATUS = {
    Outcome.OK: "completed",
    Outcome.FAILED: "failed",
    Outcome.STOPPED: "stopped",
    Outcome.DENIED: "denied",
    Outcome.UNKNOWN: "unknown",
}
STOPPED = "It was stopped before it was done."
REVOKED = "It was ended: the person it worked for may not use Hermes any more."


class ChildLimits(Struct, frozen=True, kw_only=True):
    """How many children may be at work at once; those that wait for something do not count."""

    parallel: int = 8  # for one session
    alive: int = 32  # in one process, and for one person


class Crowd(Struct, frozen=True):
    """The children at work in this process: for which session and which person, by their keys."""

    children: Mapping[SessionKey, tuple[str, str]] = {}

    def has_room(self, inbound: Inbound, limits: ChildLimits) -> bool:
        """May this work begin now? What finds no room waits for its turn."""
        if inbound.origin != "parent" or inbound.address.platform != CALL:
            return True
        others = [who for key, who in self.children.items() if key != inbound.session]
        beside = sum(family == inbound.address.chat for family, _ in others)
        same = sum(person == inbound.sender.id for _, person in others)
        return beside < limits.parallel and max(same, len(others)) < limits.alive


def crowd_entry(session: Session) -> tuple[str, str] | None:
    """For which session and person a child is at work; None when it is not."""
    turn = session.turn if isinstance(session.phase, Running) else None
    if turn is None or turn.origin != "parent" or turn.address.platform != CALL:
        return None
    return turn.address.chat, turn.sender


class PartResult(Struct, frozen=True, kw_only=True):
    """What one session had to say in the end."""

    text: str
    settled: CallSettlement


def joined_text(parts: tuple[PartResult, ...]) -> str:
    return "\n\n".join(part.text for part in parts)


def part_name(call: CallId, part: int = 0) -> str:
    """Return the name of one part of a call; the call itself where it has but one."""
    return f"{call}.{part}" if part else call


def child_key(call: CallId, part: int = 0) -> SessionKey:
    """Return the session that works on this part of a call: the same for ever."""
    return session_key(CHILD, "dm", part_name(call, part))


def call_of_child(key: SessionKey) -> tuple[CallId, int] | None:
    """Return the call, and the part of it, that a session works on; None for another session."""
    name = name_of(key)
    if name is None or name.platform != CHILD:
        return None
    call, _, part = name.chat.partition(".")
    return CallId(call), int(part) if part.isdecimal() else 0


def address_of_call(session: SessionKey, call: CallId, part: int = 0) -> Address:
    """Return where a session answers whose answer is to end this call."""
    return Address(platform=CALL, chat=session, thread=part_name(call, part))


def result_message(
    session: SessionKey,
    settles: CallSettlement,
    text: str,
    at: float,
    *,
    labels: tuple[str, ...] = (),
    spent: tuple[Spent, ...] = (),
) -> Inbound:
    """Return the message that ends a deferred call, or a part of it. Sending it twice is sending
    it once."""
    call, part = settles.call, settles.part
    cut = f"\n[{len(text) - RESULT_CHARS_MAX} more characters]"
    ended = Inbound(
        id=MessageId(part_name(call, part)),
        account=CALL,
        session=session,
        sender=Person(id="hermes"),
        address=address_of_call(session, call, part),
        text=(text[:RESULT_CHARS_MAX] + (cut if len(text) > RESULT_CHARS_MAX else "")) or NO_TEXT,
        at=at,
        origin="result",
        labels=labels,
        spent=spent,
        settles=settles,
    )
    return derived(ended)


def question_message(parent: SessionKey, question: Reply, at: float) -> Inbound:
    """Return the message with which a child's question comes to the chat of its parent. No model
    reads it; the answer finds the child by the question's id."""
    passed_on = Inbound(
        id=MessageId(question.id),
        account=CALL,
        session=parent,
        sender=Person(id="hermes"),
        address=Address(platform=CALL, chat=parent),
        text=question.text,
        at=at,
        origin="relay",
        labels=(UNREAD,),
        buttons=question.buttons,
    )
    return derived(passed_on)


def stop_message(child: SessionKey, name: str, at: float) -> Inbound:
    """Return the message that ends a child's work."""
    stop = Inbound(
        id=MessageId(name),
        account=CALL,
        session=child,
        sender=Person(id="hermes"),
        address=Address(platform=CALL, chat=child),
        text="stop",
        at=at,
        origin="parent",
        waits=True,
        stops=True,
    )
    return derived(stop)


def last_words(turn: Turn, reply: Reply, outcome: Outcome) -> Reply:
    """Return the reply as the end of a turn: where it answers a call, with how it ended."""
    if turn.address.platform != CALL:
        return reply
    usage = turn.usage or Usage()
    report = TurnReport(
        turn=turn.id,
        outcome=outcome,
        model=turn.model,
        usage=usage,
        title=turn.options.title,
        copy=turn.options.workdir if turn.options.isolated else "",
        to=turn.options.report_to,
    )
    return replace(reply, ends=report)


def report_message(session: SessionKey, name: str, report: TurnReport, reply: Reply) -> Inbound:
    """Return the message that brings the report of work in the background home: once, because it
    has the name of the work. It interrupts nothing."""
    assert report.to is not None, "work in the background reports somewhere"
    title = f" “{report.title}”" if report.title else ""
    head = f"[The background task {name}{title} has {STATUS[report.outcome]}. {MARK}]"
    begun = Inbound(
        id=MessageId(name),
        account=BACKGROUND,
        session=session,
        sender=report.to.principal.person or Person(id="hermes"),
        address=report.to.address,
        text=f"{head}\n{reply.text}",
        at=0.0,
        origin="background",
        labels=reply.labels,
        waits=True,
        conversation=report.to.conversation,
    )
    return derived(begun, report.to.principal)


def words_at_end(before: Session, event: e.Event, after: Session) -> Iterator[Reply]:
    """What a turn that is over leaves to be said: to the call that it worked for, that it was
    stopped; to those who worked for it, that they need not go on."""
    turn = before.turn
    if turn is None or (after.turn is not None and after.turn.id == turn.id):
        return
    if turn.address.platform == CALL and not isinstance(event, e.TurnEnded):
        why = event.why if isinstance(event, e.TurnInterrupted) else ""
        outcome = Outcome.DENIED if why == "revoked" else Outcome.STOPPED
        text = REVOKED if why == "revoked" else STOPPED
        id_ = ReplyId(f"{turn.id}/0")
        said = Reply(id=id_, session=before.key, address=turn.address, text=text, kind="notice")
        if why != "parent":
            yield replace(last_words(turn, said, outcome), labels=before.view.labels)
    for state in filter(works, turn.call_states):
        for child in state.children:
            there = Address(platform=CALL, chat=child)
            id_ = ReplyId(f"{child}/stop")
            yield Reply(id=id_, session=before.key, address=there, text="stop", kind="removal")
