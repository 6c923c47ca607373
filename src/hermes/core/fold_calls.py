"""How events change the calls of a turn, and the questions about them. Part of `fold`."""

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.budget import tokens_of
from hermes.core.fold_turn import (
    moved,
    open_turn,
    resumed_by,
    taken_messages,
    with_turn,
    without_messages,
)
from hermes.core.fold_views import cost
from hermes.core.loop_guard import REFUSED, counted, loop_call
from hermes.core.messages import REPLY, Call, Outcome
from hermes.core.provenance import labelled, read_with, sources_with
from hermes.core.repeats import with_call
from hermes.core.session import CallState, Session, Stage, Turn, ref, voices_with

GRANTS_MAX = 50  # for one conversation; the oldest is asked about again


def question_asked(session: Session, event: e.QuestionAsked) -> Session:
    turn = replace(open_turn(session, event.turn), draft="", unseen=None)
    if turn.answer is not None:  # it is about the answer itself
        turn = replace(turn, call_states=(CallState(call=Call(id=event.call, tool=REPLY)),))
    elif event.call == loop_call(turn).id:
        turn = replace(turn, call_states=(CallState(call=loop_call(turn)),))
    turn = moved(
        turn,
        event.call,
        (Stage.INTENDED, *((Stage.STARTED,) if event.wants_text else ())),
        stage=Stage.ASKED,
        question=event.id,
        digest=event.digest,
        wants_text=event.wants_text,
        choices=event.choices,
        asked=event.asked,
        queued=tuple(map(ref, session.waiting)) if event.wants_text else (),
        asked_at=event.at,
        expires_at=event.expires_at,
        offer=event.offer,
        session_offer=event.session_offer,
        folder_offer=event.folder_offer,
    )
    return with_turn(session, turn)


def question_answered(session: Session, event: e.QuestionAnswered) -> Session:
    stage = Stage.ENDED if event.text or not event.granted else Stage.ALLOWED
    turn = moved(
        open_turn(session, event.turn),
        event.call,
        (Stage.ASKED,),
        stage=stage,
        approved=event.granted,
    )
    turn = replace(turn, epoch=event.epoch)
    if event.call == loop_call(turn).id:
        had = counted(session, turn, 0 if event.granted else REFUSED)
        session, turn = replace(session, answered=had), replace(turn, call_states=())
    if event.message:
        taken = taken_messages(session, (event.message,))
        turn = replace(turn, voices=voices_with(turn.voices, taken))
        read = read_with(session.view, taken)
        session = without_messages(replace(session, view=read), (event.message,))
    grants = (*session.grants, *([event.session_grant] if event.session_grant else ()))
    return replace(with_turn(session, turn), grants=grants[-GRANTS_MAX:])


def call_started(session: Session, event: e.CallStarted) -> Session:
    turn = resumed_by(session, open_turn(session, event.turn), event.epoch)
    may = (Stage.INTENDED, Stage.ALLOWED, Stage.STARTED)
    turn = moved(
        turn,
        event.call,
        may,
        stage=Stage.STARTED,
        effect=event.effect,
        epoch=event.epoch,
        started_at=event.at,
        children=event.children,
    )
    return with_turn(session, turn)


def call_deferred(session: Session, event: e.CallDeferred) -> Session:
    turn = open_turn(session, event.turn)
    turn = moved(
        turn,
        event.call,
        (Stage.STARTED,),
        stage=Stage.DEFERRED,
        expires_at=event.expires_at,
        parts=event.parts,
    )
    return with_turn(session, turn)


def call_ended(session: Session, event: e.CallEnded) -> Session:
    turn = resumed_by(session, open_turn(session, event.turn), event.epoch)
    may = (Stage.INTENDED, Stage.ALLOWED, Stage.STARTED, Stage.DEFERRED)
    before = turn
    turn = moved(turn, event.call, may, stage=Stage.ENDED)
    turn = _given(replace(with_call(before, event), call_states=turn.call_states), event)
    if event.tokens:
        turn = replace(turn, tokens=turn.tokens + event.tokens)
    if event.message:
        session = without_messages(session, (event.message, *event.more))
    session = replace(session, sources=sources_with(session.sources, event.source))
    facts, view = session.facts.updated(event.facts), labelled(session.view, event.labels)
    filled = session.filled + tokens_of(event.text)
    used = session.used + cost(event.spent) + event.tokens
    return replace(with_turn(session, turn), facts=facts, view=view, filled=filled, used=used)


def _given(turn: Turn, event: e.CallEnded) -> Turn:
    """Keep what a job's first calls gave: it decides whether a model is asked at all."""
    if turn.options.run is None or not turn.options.calls or turn.steps != 1:
        return turn
    if event.outcome is Outcome.OK:
        return replace(turn, given=event.text)
    return replace(turn, fault=turn.fault or event.text or event.outcome.value)
