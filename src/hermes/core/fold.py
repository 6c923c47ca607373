"""How each event changes a session. `fold` is the only way to make one."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.budget import tokens_of
from hermes.core.errors import Refused
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Inbound, Spent
from hermes.core.provenance import labelled, read_with, words_of
from hermes.core.session import (
    Asking,
    Compaction,
    Idle,
    Mark,
    Running,
    Session,
    Stage,
    Suspended,
    Track,
    Turn,
    call_id,
    ref,
)
from hermes.core.transcript import line_count

_OF_ONE = ("title", "prompt", "web_links")  # facts of one conversation; the others are the lane's


def fold_all(session: Session, events: Iterable[e.Event]) -> Session:
    return reduce(fold, events, session)


def fold(session: Session, event: e.Event) -> Session:
    """The session after this event. Raises Refused when the event does not fit."""
    after = _FOLDS[type(event)](session, event)
    added = line_count(session, event)
    return replace(after, position=session.position + 1, rows=after.rows + added)


def _received(session: Session, event: e.MessageReceived) -> Session:
    first = session.id or event.opens
    view = session.view if session.view.spans else replace(session.view, spans=(e.Span(first),))
    return replace(session, id=first, view=view, waiting=(*session.waiting, event.inbound))


def _command(session: Session, event: e.CommandRun | e.MessageDropped) -> Session:
    return _taken_out(session, (event.message,))


def _relayed(session: Session, event: e.MessageRelayed | e.TurnSteered) -> Session:
    view = read_with(session.view, _taken(session, (event.message,)))
    return _taken_out(replace(session, view=view), (event.message,))


def _told(session: Session, event: e.PersonTold) -> Session:
    if event.messages:
        _taken(session, event.messages)
    return replace(session, told=tuple(dict.fromkeys((*session.told, *event.messages))))


def _draft(session: Session, event: e.DraftShown) -> Session:
    return _with(session, replace(_running(session, event.turn), draft=event.receipt))


def _started(session: Session, event: e.TurnStarted) -> Session:
    _demand(isinstance(session.phase, Idle), "a turn is open already")
    taken = _taken(session, event.messages)
    turn = Turn(
        id=event.turn,
        address=taken[-1].address,
        epoch=event.epoch,
        started_at=event.at,
        first=session.position + 1,
        node=event.node,
        sender=taken[-1].sender.id,
        origin=taken[-1].origin,
        words=words_of("", taken),
    )
    instructions = next((i.instructions for i in reversed(taken) if i.instructions), "")
    facts = session.facts
    if instructions and instructions != facts.get("instructions"):  # they stand in the prompt
        facts = _facts(session, {"instructions": instructions, "prompt": ""})
    came = next((i.workdir for i in reversed(taken) if i.workdir), "")
    if came and came != facts.get("came_from"):  # who stays there keeps the session's own `cd`
        facts = {**facts, "came_from": came, "workdir": came}
    return replace(
        _taken_out(session, event.messages),
        phase=Running(turn),
        runs=session.runs + 1,
        facts=facts,
        filled=session.filled + sum(tokens_of(i.text) for i in taken),
        view=read_with(session.view, taken),
    )


def _marked(session: Session, event: e.TurnMarked) -> Session:
    """A suspended session is never marked; a mark that no run has answered yet is kept (C11)."""
    _current(session, event.turn)
    phase = session.phase
    if not isinstance(phase, Running | Asking):
        raise Refused("only an open turn can be marked")
    if phase.mark is not None and phase.mark != phase.turn.resumed:
        return session
    known = phase.turn.node
    queued = tuple(ref(inbound) for inbound in session.waiting if inbound.node == known)
    mark = Mark(reason=event.reason, at=event.at, queued=queued)
    return replace(session, phase=replace(phase, mark=mark))


def _resumed(session: Session, event: e.TurnResumed) -> Session:
    """From suspension too: that is a person's retry, and starts the count again."""
    turn = _current(session, event.turn)
    _demand(not isinstance(session.phase, Asking), "a parked turn goes on by its answer")
    taken = _taken(session, event.messages) if event.messages else ()
    why = session.mark or Mark(reason="restart_interrupted", at=event.at)
    turn = replace(
        turn,
        tracks=tuple(_unasked(track) for track in turn.tracks),
        epoch=event.epoch,
        node=event.node or turn.node,
        runs=turn.runs + 1,
        resumed=why,
        joined=bool(taken),
        address=taken[-1].address if taken else turn.address,
        sender=taken[-1].sender.id if taken else turn.sender,
        words=words_of(turn.words, taken),
    )
    retried = isinstance(session.phase, Suspended)
    return replace(
        _taken_out(session, event.messages),
        phase=Running(turn, session.mark),
        runs=1 if retried else session.runs + 1,
        view=read_with(session.view, taken),
    )


def _unasked(track: Track) -> Track:
    """What was asked before the session was suspended is asked again."""
    asked = track.stage is Stage.ASKED
    return replace(track, stage=Stage.INTENDED, question="", digest="") if asked else track


def _steered(session: Session, event: e.TurnSteered) -> Session:
    turn, taken = _current(session, event.turn), _taken(session, (event.message,))
    turn = replace(turn, words=words_of(turn.words, taken))
    return _relayed(replace(session, phase=replace(session.phase, turn=turn)), event)


def _answered(session: Session, event: e.ModelAnswered) -> Session:
    turn = _running(session, event.turn)
    _demand(all(t.stage is Stage.ENDED for t in turn.tracks), "calls are still open")
    _demand(turn.answer is None, "the turn has its answer")
    ids = tuple(call_id(turn, n) for n in range(1, len(event.calls) + 1))
    _demand(ids == tuple(call.id for call in event.calls), "a call's id is not its place")
    turn = replace(
        turn,
        tracks=tuple(Track(call=call) for call in event.calls),
        answer=None if event.calls else event.text,
        steps=turn.steps + 1,
        calls=turn.calls + len(event.calls),
        tokens=turn.tokens + event.usage.input + event.usage.output,
    )
    usage = event.usage
    counted = usage.input + usage.output
    filled = counted or session.filled + tokens_of(event.text)
    compaction = session.compaction
    if compaction.overflows:
        compaction = replace(compaction, overflows=0)
    used = session.used + counted
    return replace(_with(session, turn), unread=(), filled=filled, used=used, compaction=compaction)


def _asked(session: Session, event: e.QuestionAsked) -> Session:
    turn = _running(session, event.turn)
    turn = _moved(
        replace(turn, draft=""),
        event.call,
        (Stage.INTENDED,),
        stage=Stage.ASKED,
        question=event.id,
        digest=event.digest,
    )
    known = (event.at, session.mark, event.id, event.expires_at, event.offer)
    return replace(session, phase=Asking(turn, event.call, *known))


def _question_answered(session: Session, event: e.QuestionAnswered) -> Session:
    phase = session.phase
    _demand(isinstance(phase, Asking) and phase.call == event.call, "nobody asked that")
    stage = Stage.ENDED if event.text or not event.granted else Stage.ALLOWED
    turn = _moved(
        _current(session, event.turn),
        event.call,
        (Stage.ASKED,),
        stage=stage,
        approved=event.granted,
    )
    turn = replace(turn, epoch=event.epoch)
    return replace(session, phase=Running(turn, session.mark))


def _call_started(session: Session, event: e.CallStarted) -> Session:
    turn = _running(session, event.turn)
    may = (Stage.INTENDED, Stage.ALLOWED, Stage.STARTED)
    turn = _moved(
        turn,
        event.call,
        may,
        stage=Stage.STARTED,
        effect=event.effect,
        epoch=event.epoch,
        started_at=event.at,
    )
    return _with(session, turn)


def _call_ended(session: Session, event: e.CallEnded) -> Session:
    turn = _running(session, event.turn)
    may = (Stage.INTENDED, Stage.ALLOWED, Stage.STARTED)
    turn = _moved(turn, event.call, may, stage=Stage.ENDED)
    facts, view = _facts(session, event.facts), labelled(session.view, event.labels)
    filled = session.filled + tokens_of(event.text)
    used = session.used + _cost(event.spent)
    return replace(_with(session, turn), facts=facts, view=view, filled=filled, used=used)


def _ended(session: Session, event: e.TurnEnded) -> Session:
    turn = _running(session, event.turn)
    return replace(session, phase=Idle(), runs=0, unread=_unread(session, turn, reached=False))


def _interrupted(session: Session, event: e.TurnInterrupted) -> Session:
    turn = _current(session, event.turn)
    unread = _unread(session, turn, reached=event.reached)
    return replace(session, phase=Idle(), runs=0, unread=unread)


def _suspended(session: Session, event: e.SessionSuspended) -> Session:
    return replace(session, phase=Suspended(session.turn, event.why, event.at))


def _reset(session: Session, event: e.SessionReset) -> Session:
    """The lane's queue and what it remembers for the person stay; the conversation is another."""
    view = replace(event.view, spans=(*event.view.spans, e.Span(event.opens)))
    facts = {name: value for name, value in session.facts.items() if name not in _OF_ONE}
    return replace(
        session,
        id=event.opens,
        rows=0,
        phase=Idle(),
        runs=0,
        view=view,
        unread=(),
        facts=facts,
        filled=0,
        used=0,
        compaction=Compaction(),
        viewed_at=session.position + 1,
    )


def _view_changed(session: Session, event: e.ViewChanged) -> Session:
    at = session.position + 1
    return replace(session, view=event.view, viewed_at=at, filled=0, compaction=Compaction())


def _compaction_asked(session: Session, event: e.CompactionAsked) -> Session:
    overflows = session.compaction.overflows + (event.address is None)
    compaction = replace(session.compaction, wanted=event, overflows=overflows)
    return replace(session, compaction=compaction)


def _compacted(session: Session, event: e.Compacted) -> Session:
    _demand(session.viewed_at == event.of, "another view was summed up")
    return replace(
        session,
        view=labelled(event.view, session.view.labels),
        viewed_at=session.position + 1,
        filled=event.tokens,
        used=session.used + _cost(event.spent),
        compaction=Compaction(overflows=session.compaction.overflows),
    )


def _compaction_failed(session: Session, event: e.CompactionFailed) -> Session:
    _demand(session.viewed_at == event.of, "another view was summed up")
    failed = Compaction(
        failures=session.compaction.failures + 1,
        not_before=event.not_before,
        overflows=session.compaction.overflows,
    )
    return replace(session, compaction=failed, used=session.used + _cost(event.spent))


def _prompt_made(session: Session, event: e.PromptMade) -> Session:
    facts = _facts(session, {"prompt": event.digest})
    return replace(session, facts=facts, view=labelled(session.view, event.labels))


_FOLDS: dict[type, Callable[[Session, Any], Session]] = {
    e.MessageReceived: _received,
    e.CommandRun: _command,
    e.MessageDropped: _command,
    e.TurnStarted: _started,
    e.TurnMarked: _marked,
    e.TurnResumed: _resumed,
    e.TurnSteered: _steered,
    e.ModelAnswered: _answered,
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _question_answered,
    e.CallStarted: _call_started,
    e.CallEnded: _call_ended,
    e.TurnEnded: _ended,
    e.TurnInterrupted: _interrupted,
    e.SessionSuspended: _suspended,
    e.SessionReset: _reset,
    e.ViewChanged: _view_changed,
    e.CompactionAsked: _compaction_asked,
    e.Compacted: _compacted,
    e.CompactionFailed: _compaction_failed,
    e.PromptMade: _prompt_made,
    e.FactSet: lambda session, event: replace(
        session, facts=_facts(session, {event.name: event.value})
    ),
    e.PersonTold: _told,
    e.MessageRelayed: _relayed,
    e.DraftShown: _draft,
    e.HomeSet: lambda session, _event: session,
    e.RestartAsked: lambda session, _event: session,
}


def _demand(holds: bool, else_: str) -> None:
    if not holds:
        raise Refused(else_)


def _current(session: Session, turn_id: TurnId) -> Turn:
    turn = session.turn
    if turn is None or turn.id != turn_id:
        raise Refused(f"turn {turn_id} is not open in {session.key}")
    return turn


def _running(session: Session, turn_id: TurnId) -> Turn:
    _demand(isinstance(session.phase, Running), "the turn is not running")
    return _current(session, turn_id)


def _with(session: Session, turn: Turn) -> Session:
    return replace(session, phase=Running(turn, session.mark))


def _moved(turn: Turn, call: CallId, from_: tuple[Stage, ...], **change: object) -> Turn:
    if not any(track.call.id == call and track.stage in from_ for track in turn.tracks):
        raise Refused(f"call {call} cannot become {change['stage']}")
    tracks = tuple(replace(t, **change) if t.call.id == call else t for t in turn.tracks)
    return replace(turn, tracks=tracks)


def _cost(spent: tuple[Spent, ...]) -> int:
    return sum(each.usage.input + each.usage.output for each in spent)


def _unread(session: Session, turn: Turn, *, reached: bool) -> tuple[CallId, ...]:
    if turn.answer is not None or reached:
        return ()
    fresh = tuple(track.call.id for track in turn.tracks if track.stage is Stage.ENDED)
    return fresh or session.unread


def _facts(session: Session, new: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in {**session.facts, **new}.items() if value}


def _taken(session: Session, messages: tuple[str, ...]) -> tuple[Inbound, ...]:
    taken = tuple(inbound for inbound in session.waiting if ref(inbound) in messages)
    _demand(bool(messages) and len(taken) == len(messages), "a message is not waiting here")
    return taken


def _taken_out(session: Session, messages: tuple[str, ...]) -> Session:
    """These messages wait no more."""
    waiting = tuple(inbound for inbound in session.waiting if ref(inbound) not in messages)
    told = tuple(message for message in session.told if message not in messages)
    return replace(session, waiting=waiting, told=told)
