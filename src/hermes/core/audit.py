"""The audit log: what was done, in entries that cannot be changed without a trace.

An entry is written in the commit of what it records; the store seals each over the one before it.
"""

import hashlib
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from hermes.core import events as e
from hermes.core.grants import Grant
from hermes.core.ids import CallId
from hermes.core.messages import Outcome
from hermes.core.session import CallState, Session

ARGUMENTS_CHARS_MAX = 2_000
FOREIGN = "sealed with another key than this home has"  # in what is said of such entries
START = bytes(32)  # what the first entry of a chain is sealed over


class AuditEntry(Struct, frozen=True):
    """`body` is JSON with sorted keys."""

    kind: str
    at: float
    body: bytes


class Sealed(Struct, frozen=True):
    """An entry in its place. A store may keep several chains, one for each node."""

    chain: str
    seq: int
    entry: AuditEntry
    seal: bytes


def entry(kind: str, at: float, **body: object) -> AuditEntry:
    said = {name: value for name, value in body.items() if value not in ("", None, ())}
    return AuditEntry(kind, at, msgspec.json.encode(said, order="sorted"))


class AuditHead(Struct, frozen=True):
    """The end of a chain at the last check: its last entry and that entry's seal."""

    seq: int = 0
    seal: str = START.hex()


def entries_of(before: Session, event: e.Event) -> Iterator[AuditEntry]:
    """What an event does that an owner may want to look up."""
    match event:
        case e.QuestionAsked(at=at, id=id_, why=why, digest=digest):
            yield _of_call(before, "asked", event.call, at, question=id_, why=why, digest=digest)
        case e.QuestionAnswered(at=at, granted=granted, by=by):
            kind = "approved" if granted else "refused" if by else "expired"
            yield _of_call(
                before, kind, event.call, at, question=_question(before, event.call), by=by
            )
            if event.grant is not None:
                yield granted_entry(event.grant, at, by)
            if event.session_grant is not None:
                yield granted_entry(event.session_grant, at, by, before)
        case e.CallStarted(at=at, box=box, effect=effect):
            yield _of_call(before, "started", event.call, at, box=box, effect=effect.value)
        case e.CallEnded(at=at, outcome=Outcome.DENIED, text=text):
            yield _of_call(before, "denied", event.call, at, why=text)
        case e.CallEnded(at=at, outcome=outcome):
            yield entry("ended", at, session=before.key, call=event.call, outcome=outcome.value)
        case e.TurnInterrupted(at=at, turn=turn, why="revoked"):
            yield entry("sent_away", at, session=before.key, turn=turn)
        case e.HomeSet(at=at, address=address):
            where = f"{address.platform}:{address.chat}"
            yield entry("home", at, session=before.key, where=where)
        case _:
            return


def granted_entry(grant: Grant, at: float, by: str, session: Session | None = None) -> AuditEntry:
    """`session` is the one whose conversation it is for; None: for all."""
    return entry(
        "granted",
        at,
        grant=grant.id,
        tool=grant.tool,
        arguments=grant.arguments[:ARGUMENTS_CHARS_MAX],
        expires_at=grant.expires_at,
        by=by,
        session=session.key if session is not None else "",
        conversation=session.id if session is not None else "",
    )


def _of_call(session: Session, kind: str, call: CallId, at: float, **more: object) -> AuditEntry:
    """Who, from where, what, and what had been read by then."""
    turn, call_state = session.turn, _call_state(session, call)
    arguments = call_state.call.arguments if call_state is not None else ""
    return entry(
        kind,
        at,
        session=session.key,
        call=call,
        who=f"{turn.address.platform}:{turn.sender}" if turn is not None else "",
        origin=turn.origin if turn is not None else "",
        tool=call_state.call.tool if call_state is not None else "",
        arguments=arguments[:ARGUMENTS_CHARS_MAX],
        arguments_sha256=hashlib.sha256(arguments.encode()).hexdigest(),
        labels=session.view.labels,
        approval=call_state.question if call_state is not None and call_state.approved else "",
        **more,
    )


def _call_state(session: Session, call: CallId) -> CallState | None:
    call_states: Sequence[CallState] = session.turn.call_states if session.turn is not None else ()
    return next((call_state for call_state in call_states if call_state.call.id == call), None)


def _question(session: Session, call: CallId) -> str:
    return next((asked.question for asked in session.questions if asked.call.id == call), "")
