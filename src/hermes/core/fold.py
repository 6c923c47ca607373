"""How each event changes a session. `fold` is the only way to make one."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, get_args

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import fold_goals
from hermes.core.budget import tokens_of
from hermes.core.errors import Refused
from hermes.core.fold_calls import (
    call_deferred,
    call_ended,
    call_started,
    question_answered,
    question_asked,
)
from hermes.core.fold_turn import (
    current_turn,
    open_turn,
    running_turn,
    taken_messages,
    with_turn,
    without_messages,
)
from hermes.core.fold_views import (
    compacted,
    compaction_asked,
    compaction_failed,
    demand,
    view_changed,
)
from hermes.core.ids import CallId, SessionId
from hermes.core.job_events import JobChange, JobRemoved, JobSet
from hermes.core.loop_guard import after_words, answers, counted
from hermes.core.messages import TurnOptions, UnseenDraft, together
from hermes.core.provenance import labelled, read_with, sources_with, words_of
from hermes.core.session import (
    CallState,
    Compaction,
    Idle,
    Mark,
    Running,
    Session,
    Stage,
    Suspended,
    Turn,
    Waiting,
    call_id,
    ref,
    voices_with,
)
from hermes.core.transcript import line_count


def fold_all(session: Session, events: Iterable[e.Event]) -> Session:
    return reduce(fold, events, session)


def fold(session: Session, event: e.Event) -> Session:
    """The session after this event. Raises Refused when the event does not fit."""
    after = _FOLDS[type(event)](session, event)
    added = line_count(session, event)
    salvaged = session.salvaged and isinstance(event, e.MessageReceived)
    position, rows = session.position + 1, after.rows + added
    return replace(after, position=position, rows=rows, salvaged=salvaged)


def _received(session: Session, event: e.MessageReceived) -> Session:
    opened, inbound = _opened(session, event.opens), event.inbound
    heard_at = max(session.heard_at, inbound.at if inbound.origin == "person" else 0.0)
    return replace(opened, waiting=(*session.waiting, inbound), heard_at=heard_at)


def _job_set(session: Session, event: JobSet) -> Session:
    return replace(_opened(session, event.opens), removed=False)


def _opened(session: Session, opens: SessionId) -> Session:
    first = session.id or opens
    view = session.view if session.view.spans else replace(session.view, spans=(e.Span(first),))
    return replace(session, id=first, view=view)


def _command(session: Session, event: e.CommandRun | e.MessageDropped) -> Session:
    return without_messages(session, (event.message,))


def _relayed(session: Session, event: e.MessageRelayed | e.TurnSteered) -> Session:
    view = read_with(session.view, taken_messages(session, (event.message,)))
    return without_messages(replace(session, view=view), (event.message,))


def _told(session: Session, event: e.PersonTold) -> Session:
    if event.messages:
        taken_messages(session, event.messages)
    return replace(session, told=tuple(dict.fromkeys((*session.told, *event.messages))))


def _draft_begun(session: Session, event: e.DraftBegun) -> Session:
    unseen = UnseenDraft(event.turn, event.text, event.behind)
    return with_turn(session, replace(open_turn(session, event.turn), unseen=unseen))


def _draft(session: Session, event: e.DraftShown) -> Session:
    turn = open_turn(session, event.turn)
    return with_turn(session, replace(turn, draft=event.receipt, unseen=None))


def _started(session: Session, event: e.TurnStarted) -> Session:
    demand(isinstance(session.phase, Idle), "a turn is open already")
    taken = taken_messages(session, event.messages)
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
        voices=voices_with((), taken),
        options=taken[-1].options or TurnOptions(),
        automatic=all(inbound.automatic for inbound in taken),
    )
    facts = session.facts
    instructions = next((i.instructions for i in reversed(taken) if i.instructions), "")
    if instructions and instructions != facts.instructions:  # they stand in the prompt
        facts = replace(facts, instructions=instructions, prompt="")
    came = next((i.workdir for i in reversed(taken) if i.workdir), "")
    if turn.options.run is not None:  # where the run before went is not where this one begins
        facts = replace(facts, came_from=came, workdir=came)
    if came and came != facts.came_from:  # who stays there keeps the session's own `cd`
        facts = replace(facts, came_from=came, workdir=came, prompt="")  # which names it
    if turn.options.workdir:
        facts = replace(facts, workdir=turn.options.workdir, prompt="")
    return replace(
        without_messages(session, event.messages),
        phase=Running(turn),
        direct=taken[-1].direct,
        runs=session.runs + 1,
        facts=facts,
        filled=session.filled + sum(tokens_of(i.text) for i in taken),
        view=read_with(session.view, taken),
        answered=after_words(session, taken),
        goal=fold_goals.begun(session.goal, taken),
    )


def _marked(session: Session, event: e.TurnMarked) -> Session:
    """A suspended session is never marked; a mark that no run has answered yet is kept (C11)."""
    current_turn(session, event.turn)
    if not isinstance(phase := session.phase, Running | Waiting):
        raise Refused("only an open turn can be marked")
    if phase.mark is not None and phase.mark != phase.turn.resumed:
        return session
    known = phase.turn.node
    queued = tuple(ref(inbound) for inbound in session.waiting if inbound.node == known)
    mark = Mark(reason=event.reason, at=event.at, queued=queued)
    return replace(session, phase=replace(phase, mark=mark))


def _resumed(session: Session, event: e.TurnResumed) -> Session:
    """From suspension too: that is a person's retry, and starts the count again."""
    turn = current_turn(session, event.turn)
    demand(
        not isinstance(session.phase, Waiting), "a waiting turn continues with what it waits for"
    )
    retried = isinstance(session.phase, Suspended)
    taken = taken_messages(session, event.messages) if event.messages else ()
    why = session.mark or Mark(reason="restart_interrupted", at=event.at)
    turn = replace(
        turn,
        call_states=tuple(map(_unasked, turn.call_states)) if retried else turn.call_states,
        epoch=event.epoch,
        node=event.node or turn.node,
        runs=turn.runs + 1,
        resumed=why,
        joined=bool(taken),
        address=taken[-1].address if taken else turn.address,
        sender=taken[-1].sender.id if taken else turn.sender,
        words=words_of(turn.words, taken),
        voices=voices_with(turn.voices, taken),
        automatic=turn.automatic and all(inbound.automatic for inbound in taken),
    )
    return replace(
        without_messages(session, event.messages),
        phase=Running(turn, session.mark),
        runs=1 if retried else session.runs + 1,
        view=read_with(session.view, taken),
        answered=after_words(session, taken),
    )


def _unasked(call_state: CallState) -> CallState:
    """What was asked before the session was suspended is asked again."""
    asked = call_state.stage is Stage.ASKED
    return (
        replace(call_state, stage=Stage.INTENDED, question="", digest="") if asked else call_state
    )


def _steered(session: Session, event: e.TurnSteered) -> Session:
    turn, taken = current_turn(session, event.turn), taken_messages(session, (event.message,))
    voices = voices_with(turn.voices, taken)
    automatic = turn.automatic and taken[0].automatic
    turn = replace(
        turn,
        words=words_of(turn.words, taken),
        voices=voices,
        automatic=automatic,
        changes=turn.changes + 1,
    )
    session = replace(session, answered=after_words(session, taken))
    return _relayed(replace(session, phase=replace(session.phase, turn=turn)), event)


def _answered(session: Session, event: e.ModelAnswered) -> Session:
    turn = running_turn(session, event.turn)
    demand(all(t.stage is Stage.ENDED for t in turn.call_states), "calls are still open")
    demand(turn.answer is None, "the turn has its answer")
    nudged = event.announces and not event.calls and not turn.announced
    answer = event.text if event.text.strip() else turn.announced
    ids = tuple(call_id(turn, n) for n in range(1, len(event.calls) + 1))
    demand(ids == tuple(call.id for call in event.calls), "a call's id is not its place")
    turn = replace(
        turn,
        call_states=tuple(CallState(call=call) for call in event.calls),
        answer=None if event.calls or nudged else answer,
        announced=event.text if nudged else turn.announced,
        steps=turn.steps + 1,
        calls=turn.calls + len(event.calls),
        tokens=turn.tokens + event.usage.input + event.usage.output,
        model=event.model,
        outcome=event.outcome,
        usage=event.usage if turn.usage is None else together((turn.usage, event.usage)),
    )
    counted = event.usage.input + event.usage.output
    filled = counted or session.filled + tokens_of(event.text)
    compaction = session.compaction
    if compaction.overflows:
        compaction = replace(compaction, overflows=0)
    used = session.used + counted
    runs = min(session.runs, 1) if turn.options.scripted else session.runs  # it got on
    return replace(
        with_turn(session, turn),
        unread=(),
        filled=filled,
        used=used,
        compaction=compaction,
        goal=fold_goals.spent(session.goal, event),
        runs=runs,
    )


def _ended(session: Session, event: e.TurnEnded) -> Session:
    turn = running_turn(session, event.turn)
    if turn.automatic:
        had = counted(session, turn, answers(session, turn.sender) + 1)
        session = replace(session, answered=had)
    if turn.options.run is not None:
        failed = event.outcome == "failed"
        failures = session.failures + 1 if failed else 0
        session = replace(session, failures=failures, incident=event.why if failed else "")
    goal, unread = fold_goals.ended(session.goal, turn, event.outcome), _unread(session, turn)
    return replace(session, phase=Idle(), runs=0, unread=unread, goal=goal)


def _interrupted(session: Session, event: e.TurnInterrupted) -> Session:
    turn = current_turn(session, event.turn)
    unread = _unread(session, turn, reached=event.reached)
    goal = fold_goals.interrupted(session.goal)
    return replace(session, phase=Idle(), runs=0, unread=unread, goal=goal)


def _suspended(session: Session, event: e.SessionSuspended) -> Session:
    goal = fold_goals.interrupted(session.goal)
    return replace(session, phase=Suspended(session.turn, event.why, event.at), goal=goal)


def _reset(session: Session, event: e.SessionReset) -> Session:
    """The lane's queue and what it remembers for the person stay; the conversation is another."""
    view = replace(event.view, spans=(*event.view.spans, e.Span(event.opens)))
    facts = session.facts.of_the_next_conversation()
    return replace(
        session,
        id=event.opens,
        rows=0,
        phase=Idle(),
        runs=0,
        view=view,
        unread=(),
        facts=facts,
        filled=event.filled,
        used=0,
        compaction=Compaction(),
        viewed_at=session.position + 1,
        grants=(),
        sources=(),
        goal=None,
    )


def _prompt_made(session: Session, event: e.PromptMade) -> Session:
    facts = replace(session.facts, prompt=event.digest, tools=event.tools)
    view = labelled(session.view, event.labels)
    sources = sources_with(session.sources, *event.sources)
    return replace(session, facts=facts, view=view, sources=sources)


_FOLDS: dict[type, Callable[[Session, Any], Session]] = {
    e.MessageReceived: _received,
    e.CommandRun: _command,
    e.MessageDropped: _command,
    e.TurnStarted: _started,
    e.TurnMarked: _marked,
    e.TurnResumed: _resumed,
    e.TurnSteered: _steered,
    e.ModelAnswered: _answered,
    e.QuestionAsked: question_asked,
    e.QuestionAnswered: question_answered,
    e.CallStarted: call_started,
    e.CallDeferred: call_deferred,
    e.CallEnded: call_ended,
    e.TurnEnded: _ended,
    e.TurnInterrupted: _interrupted,
    e.SessionSuspended: _suspended,
    e.SessionReset: _reset,
    e.ViewChanged: view_changed,
    e.CompactionAsked: compaction_asked,
    e.Compacted: compacted,
    e.CompactionFailed: compaction_failed,
    e.PromptMade: _prompt_made,
    e.FactSet: lambda session, event: replace(
        session, facts=session.facts.updated({event.name: event.value})
    ),
    e.PersonTold: _told,
    e.MessageRelayed: _relayed,
    e.DraftBegun: _draft_begun,
    e.DraftShown: _draft,
    e.HomeSet: lambda session, _event: session,
    e.RestartAsked: lambda session, _event: session,
    **dict.fromkeys(get_args(JobChange), lambda session, _event: session),
    JobSet: _job_set,
    JobRemoved: lambda session, _event: replace(session, removed=True),
    e.GoalSet: fold_goals.goal_set,
    e.GoalPaused: fold_goals.goal_paused,
    e.GoalJudged: fold_goals.goal_judged,
}


def _unread(session: Session, turn: Turn, *, reached: bool = False) -> tuple[CallId, ...]:
    if turn.answer is not None or reached:
        return ()
    fresh = tuple(
        call_state.call.id for call_state in turn.call_states if call_state.stage is Stage.ENDED
    )
    return fresh or session.unread
