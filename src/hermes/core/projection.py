"""What one append makes true outside the journal: listings, transcript rows, outbox, snapshot.

Pure, so that both stores write the same rows, and a rebuild from the journal gives them again.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from hermes.core import events as e
from hermes.core.audit import AuditEntry, entries_of
from hermes.core.child_sessions import CALL, words_at_end
from hermes.core.codec import encode, kind_of
from hermes.core.draft import draft_left, removals
from hermes.core.fold import fold
from hermes.core.grants import Grant
from hermes.core.ids import SessionId, SessionKey, TurnId, platform_of
from hermes.core.messages import LOOP, REPLY, Address, Line, Origin, Outcome, Reply, Spent
from hermes.core.session import CallState, Running, Session, Stage, Turn, Waiting
from hermes.core.transcript import rows

TurnState = Literal["running", "asking", "answered", "failed", "stopped", "parked"]
_PURPOSES: dict[Origin, str] = {  # of a turn's own model calls; else they are for the "turn"
    "schedule": "schedule",
    "parent": "subagent",
    "background": "background",
    "review": "memory",
}


_SPENT = (e.ModelAnswered, e.CallEnded, e.Compacted, e.CompactionFailed, e.GoalJudged)
_BEGINS = (e.TurnStarted, e.TurnResumed, e.CallStarted)  # not without somebody's leave


class Written(Struct, frozen=True):
    """One event as it is stored."""

    kind: str
    body: bytes
    at: float


class MessageRow(Struct, frozen=True):
    session: SessionId
    ordinal: int
    line: Line


class TurnRow(Struct, frozen=True, kw_only=True):
    """A turn for listings. `attempts` counts its runs, `first` is where its events begin (counted
    from the writer's `base`: the store adds what had come in between)."""

    id: TurnId
    key: SessionKey
    session: SessionId
    state: TurnState
    attempts: int
    started_at: float
    ended_at: float | None
    first: int


class UsageRow(Struct, frozen=True, kw_only=True):
    """One model call, in the accounts. `event` says which of the commit's events tells of it,
    counted from 1, and `ordinal` which of that event's calls it is."""

    event: int
    ordinal: int
    session: SessionId
    turn: str
    at: float
    platform: str
    person: str
    spent: Spent


class CallRow(Struct, frozen=True, kw_only=True):
    """One use of a tool. `seconds` is None if its start was not recorded."""

    event: int
    tool: str
    outcome: Outcome
    at: float
    seconds: float | None


QuestionState = Literal["pending", "approved", "denied", "expired", "superseded", "used"]


class QuestionRow(Struct, frozen=True, kw_only=True):
    """A question to a person, for listings: the answer in the words of its events."""

    id: str
    key: SessionKey
    turn: TurnId
    tool: str
    preview: str
    why: str
    asked_at: float
    expires_at: float
    state: QuestionState = "pending"
    decided_by: str = ""
    decided_at: float | None = None


class AnswerRow(Struct, frozen=True, kw_only=True):
    """What has become of a question. Only `used` does not say who decided."""

    id: str
    state: QuestionState
    by: str
    at: float


class Summary(Struct, frozen=True, kw_only=True):
    """A session's row in listings, as far as its owner writes it. `taken` messages wait no more."""

    id: SessionId
    phase: str
    mark: str
    runs: int
    title: str
    rows: int
    taken: int
    due_at: float = 0.0  # when it must be looked at again, whatever happens; 0: never


class Commit(Struct, frozen=True, kw_only=True):
    """All that one append writes.

    `after` is the session as its owner sees it then. A message may arrive just before the commit;
    it changes none of this, except that `after` is then no snapshot (its position differs), and
    that a session which `rests` with this commit does not.
    """

    key: SessionKey
    at: float
    base: int  # the position that the writer had seen; the store's head may be further
    events: tuple[Written, ...]
    summary: Summary
    rows: tuple[MessageRow, ...]
    replies: tuple[Reply, ...]
    turns: tuple[TurnRow, ...]
    opens: tuple[SessionId, ...]  # conversations that begin here
    after: Session
    homes: tuple[Address, ...] = ()
    usage: tuple[UsageRow, ...] = ()
    calls: tuple[CallRow, ...] = ()
    questions: tuple[QuestionRow, ...] = ()
    answers: tuple[AnswerRow, ...] = ()  # to these, or to earlier ones
    grants: tuple[Grant, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    trust_version: int | None = (
        None  # the register's version by which it was decided, where that counts
    )
    snapshot: bool = False
    rests: bool = False  # nothing is left to do behind this


def _begins(events: Sequence[e.Event]) -> bool:
    """Return True if a turn or a call begins by these events: then rights matter."""
    return any(isinstance(event, _BEGINS) for event in events)


def commit_of(
    before: Session,
    events: Sequence[e.Event],
    *,
    snapshot: bool = False,
    rests: bool = False,
    fetched: Collection[str] = (),
    trust_version: int | None = None,
) -> Commit:
    """Fold the events and collect what they make true. Raises Refused when one does not fit.

    On the platforms `fetched` people come for their replies: the journal has them, and nothing
    needs to be sent. `trust_version` is the register's version at which the events were decided.
    """
    session, lines, replies = before, list[MessageRow](), list[Reply]()
    turns, opens = dict[TurnId, TurnRow](), list[SessionId]()
    usage, calls = list[UsageRow](), list[CallRow]()
    asked, answers, audit = list[QuestionRow](), list[AnswerRow](), list[AuditEntry]()
    drafted: list[Turn] = []
    for number, event in enumerate(events, start=1):
        after = fold(session, event)
        added = rows(session, event)
        lines += (MessageRow(session.id, session.rows + i, row) for i, row in enumerate(added))
        said = (*replies_of(event), *words_at_end(session, event, after))
        replies += (reply for reply in said if reply.address.platform not in fetched)
        if (turn := turn_row(session, event, after)) is not None:
            turns[turn.id] = turn
        if session.waiting or isinstance(event, _SPENT):
            usage += usage_rows(session, event, after, number)
        if isinstance(event, e.CallEnded):
            calls += call_rows(session, event, number)
        if session.turn is not None:
            asked += question_rows(session, event)
            answers += answer_rows(session, event, after)
        audit += entries_of(session, event)
        drafted += draft_left(session, after)
        opens += [after.id] if after.id != session.id else []
        session = after
    return Commit(
        key=before.key,
        at=at_of(events[-1]),
        base=before.position,
        events=tuple(Written(kind_of(event), encode(event), at_of(event)) for event in events),
        summary=summary_of(session, taken=len(before.waiting) - len(session.waiting)),
        rows=tuple(lines),
        replies=(*replies, *removals(drafted, replies, before.key, fetched)),
        turns=tuple(turns.values()),
        opens=tuple(opens),
        after=session,
        homes=tuple(event.address for event in events if isinstance(event, e.HomeSet)),
        usage=tuple(usage),
        calls=tuple(calls),
        questions=tuple(asked),
        answers=tuple(answers),
        grants=tuple(g for event in events if (g := grant_of(event)) is not None),
        audit=tuple(audit),
        trust_version=trust_version if _begins(events) else None,
        snapshot=snapshot,
        rests=rests,
    )


def at_of(event: e.Event) -> float:
    return event.inbound.at if isinstance(event, e.MessageReceived) else event.at


def replies_of(event: e.Event) -> tuple[Reply, ...]:
    match event:
        case e.QuestionAsked(question=question, notices=notices):
            return (question, *notices)
        case (
            e.CommandRun(replies=replies)
            | e.TurnEnded(replies=replies)
            | e.SessionSuspended(replies=replies)
            | e.SessionReset(replies=replies)
            | e.TurnMarked(replies=replies)
            | e.PersonTold(replies=replies)
            | e.MessageRelayed(replies=replies)
            | e.Compacted(replies=replies)
            | e.CompactionFailed(replies=replies)
            | e.GoalSet(replies=replies)
            | e.GoalPaused(replies=replies)
        ):
            return replies
        case _:
            return ()


def turn_row(before: Session, event: e.Event, after: Session) -> TurnRow | None:
    """The turn's new row, when the event changed what a listing says of it."""
    state = _turn_state(event)
    turn = after.turn or before.turn
    if state is None or turn is None:
        return None
    over = state in ("answered", "failed", "stopped")
    return TurnRow(
        id=turn.id,
        key=before.key,
        session=before.id,
        state=state,
        attempts=turn.runs,
        started_at=turn.started_at,
        ended_at=at_of(event) if over else None,
        first=turn.first,
    )


def usage_rows(before: Session, event: e.Event, after: Session, number: int) -> Iterator[UsageRow]:
    """The model calls that an event tells of, and those that were spent on a message taken in."""
    turn, spent = before.turn, tuple[Spent, ...]()
    match event:
        case e.ModelAnswered(model=model, usage=usage) if turn and not turn.options.scripted:
            purpose = _PURPOSES.get(turn.origin, "turn")
            spent = (Spent(purpose=purpose, model=model, usage=usage),)
        case e.CallEnded() | e.Compacted() | e.CompactionFailed() | e.GoalJudged():
            spent = event.spent
    who = (_platform(turn), turn.sender) if turn else (platform_of(before.key), "")
    bought = [(who, each) for each in spent]
    for inbound in before.waiting:
        if inbound.spent and inbound not in after.waiting:
            who = (inbound.address.platform, inbound.sender.id)
            bought += ((who, each) for each in inbound.spent)
    turn = after.turn or turn
    for ordinal, ((platform, person), each) in enumerate(bought):
        yield UsageRow(
            event=number,
            ordinal=ordinal,
            session=before.id,
            turn=turn.id if turn else "",
            at=at_of(event),
            platform=platform,
            person=person,
            spent=each,
        )


def _platform(turn: Turn) -> str:
    """Where the person of a turn is: a child answers a call, and its person is elsewhere."""
    carried = turn.voices[0].principal if turn.voices and turn.address.platform == CALL else None
    spoke = carried.spoke if carried is not None else None
    return spoke.platform if spoke is not None else turn.address.platform


def call_rows(before: Session, event: e.Event, number: int) -> Iterator[CallRow]:
    if not isinstance(event, e.CallEnded) or before.turn is None:
        return
    for call_state in before.turn.call_states:
        if call_state.call.id == event.call:
            yield CallRow(
                event=number,
                tool=call_state.call.tool,
                outcome=event.outcome,
                at=event.at,
                seconds=max(event.at - call_state.started_at, 0.0)
                if call_state.started_at
                else None,
            )


def question_rows(before: Session, event: e.Event) -> Iterator[QuestionRow]:
    if isinstance(event, e.QuestionAsked) and event.id:
        called = [t.call.tool for t in _call_states(before) if t.call.id == event.call]
        yield QuestionRow(
            id=event.id,
            key=before.key,
            turn=event.turn,
            tool="".join(called) or (LOOP if event.call.endswith("-loop") else REPLY),
            preview=event.card or event.question.text,
            why=event.why,
            asked_at=event.at,
            expires_at=event.expires_at,
        )


def answer_rows(before: Session, event: e.Event, after: Session) -> Iterator[AnswerRow]:
    """A question that its turn does not wait for any more is superseded."""
    at = at_of(event)
    if isinstance(event, e.QuestionAnswered):
        state: QuestionState = "approved" if event.granted else "denied" if event.by else "expired"
        for asked in before.questions:
            if asked.call.id == event.call and asked.question:
                yield AnswerRow(id=asked.question, state=state, by=event.by, at=at)
        return
    waits = {t.question for t in _call_states(after) if t.stage in (Stage.ASKED, Stage.ALLOWED)}
    for call_state in _call_states(before):
        open_ = call_state.question and call_state.stage in (Stage.ASKED, Stage.ALLOWED)
        if open_ and call_state.question not in waits:
            used = isinstance(event, e.CallStarted) or (
                isinstance(event, e.TurnEnded) and call_state.stage is Stage.ALLOWED
            )
            yield AnswerRow(
                id=call_state.question, state="used" if used else "superseded", by="", at=at
            )


def grant_of(event: e.Event) -> Grant | None:
    return event.grant if isinstance(event, e.QuestionAnswered) else None


def _call_states(session: Session) -> tuple[CallState, ...]:
    phase = session.phase
    return phase.turn.call_states if isinstance(phase, Running | Waiting) else ()


def summary_of(session: Session, *, taken: int = 0) -> Summary:
    return Summary(
        id=session.id,
        phase=session.phase_name,
        mark=session.mark.reason if session.mark else "",
        runs=session.runs,
        title=session.facts.title,
        rows=session.rows,
        taken=taken,
        due_at=session.due_at,
    )


def _turn_state(event: e.Event) -> TurnState | None:
    match event:
        case e.TurnStarted() | e.TurnResumed() | e.QuestionAnswered():
            return "running"
        case e.QuestionAsked():
            return "asking"
        case e.TurnEnded(outcome=outcome):
            return outcome
        case e.TurnInterrupted():
            return "stopped"
        case e.SessionSuspended():
            return "parked"
        case _:
            return None
