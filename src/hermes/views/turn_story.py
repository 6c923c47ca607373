"""List the steps of a turn from its events: each model call and each tool call."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import job_events
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Call, Effect, Outcome, Usage, together

StepState = Literal["intended", "started", "finished", "unknown"]


class StepRow(Struct, frozen=True, kw_only=True):
    """One step. A model call began when the turn had nothing else to wait for."""

    kind: Literal["model", "tool"]
    name: str  # provider:model, or the tool
    state: StepState
    effect: Effect | None = None  # of a tool call that was started
    outcome: Outcome | None = None  # of a tool call that ended
    starts: int = 0  # number of starts: more than one means that a crash came between
    started_at: float | None = None
    ended_at: float | None = None
    call: CallId = CallId("")
    arguments: str = ""
    usage: Usage | None = None


def story(events: Iterable[e.Event]) -> tuple[StepRow, ...]:
    """Return the steps of the turn that begins with the first of these events.

    Events of other turns may be mixed in; they are skipped.
    """
    steps: list[StepRow] = []
    places: dict[CallId, int] = {}
    asked = set[CallId]()  # whose answer is the result
    turn: TurnId | None = None
    since: float | None = None  # when the turn could last continue
    for event in events:
        if turn is None and isinstance(event, e.TurnStarted):
            turn = event.turn
        if isinstance(event, _NOT_OF_A_TURN) or event.turn != turn:
            continue
        match event:
            case e.ModelAnswered(calls=calls):
                steps.append(_model(event, since))
                for call in calls:
                    places[call.id] = len(steps)
                    steps.append(_intended(call))
            case e.CallStarted(call=id_) if id_ in places:
                steps[places[id_]] = _started(steps[places[id_]], event)
            case e.CallEnded(call=id_, outcome=outcome, at=at) if id_ in places:
                steps[places[id_]] = _ended(steps[places[id_]], outcome, at)
            case e.QuestionAsked(call=id_, wants_text=True):
                asked.add(id_)
            case e.QuestionAnswered(call=id_, at=at) if id_ in places and _ends(event):
                refused = Outcome.DENIED if event.by or id_ not in asked else Outcome.FAILED
                outcome = Outcome.OK if event.granted else refused
                steps[places[id_]] = _ended(steps[places[id_]], outcome, at)
            case e.TurnInterrupted(at=at):
                steps = [_cut_off(step, at) for step in steps]
            case _:
                pass
        if isinstance(event, _GOES_ON):
            since = event.at
    return tuple(steps)


_GOES_ON = (e.TurnStarted, e.TurnResumed, e.CallEnded, e.QuestionAnswered)
_NOT_OF_A_TURN = (
    job_events.JobSet,
    job_events.JobPaused,
    job_events.JobResumed,
    job_events.JobRemoved,
    job_events.JobFinished,
    job_events.OccurrencesSkipped,
    job_events.TimerMoved,
    e.MessageDropped,
    e.MessageReceived,
    e.CommandRun,
    e.SessionSuspended,
    e.SessionReset,
    e.ViewChanged,
    e.CompactionAsked,
    e.Compacted,
    e.CompactionFailed,
    e.PromptMade,
    e.FactSet,
    e.PersonTold,
    e.MessageRelayed,
    e.HomeSet,
    e.RestartAsked,
    e.GoalSet,
    e.GoalPaused,
    e.GoalJudged,
)


def total(steps: Iterable[StepRow]) -> Usage:
    """Return the tokens of all model calls together."""
    return together([step.usage for step in steps if step.usage is not None])


def _model(event: e.ModelAnswered, since: float | None) -> StepRow:
    return StepRow(
        kind="model",
        name=event.model,
        state="finished",
        starts=1,
        started_at=since,
        ended_at=event.at,
        usage=event.usage,
    )


def _intended(call: Call) -> StepRow:
    return StepRow(
        kind="tool", name=call.tool, state="intended", call=call.id, arguments=call.arguments
    )


def _started(step: StepRow, event: e.CallStarted) -> StepRow:
    return replace(
        step,
        state="started",
        effect=event.effect,
        starts=step.starts + 1,
        started_at=event.at if step.started_at is None else step.started_at,
    )


def _ended(step: StepRow, outcome: Outcome, at: float) -> StepRow:
    state: StepState = "unknown" if outcome is Outcome.UNKNOWN else "finished"
    return replace(step, state=state, outcome=outcome, ended_at=at)


def _cut_off(step: StepRow, at: float) -> StepRow:
    """Return the step as unknown if it ran when a person stopped the turn: its result was not
    read."""
    if step.state != "started":
        return step
    return replace(step, state="unknown", outcome=Outcome.STOPPED, ended_at=at)


def _ends(event: e.QuestionAnswered) -> bool:
    return bool(event.text) or not event.granted
