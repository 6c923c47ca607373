"""The runs of a job, read from the journal of its session. Pure."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.directory import place_of
from hermes.core.job_events import OccurrencesSkipped
from hermes.core.job_runs import is_silent
from hermes.core.jobs import SCHEDULE
from hermes.core.messages import Inbound, ScheduledRun
from hermes.core.outbox import OutboxRow
from hermes.core.session import ref
from hermes.views.jobs import RunTarget, RunView
from hermes.views.schedule_words import span_in_words

ENDED_BY = {"revoked": "its job was removed, or its creator may not use Hermes any more"}


def runs_of(events: Iterable[e.Event], sent: Sequence[OutboxRow] = ()) -> list[RunView]:
    """Return the runs and the skipped ranges, oldest first. A run whose message is not among the
    events is known by its turn alone."""
    waiting: dict[str, Inbound] = {}
    known: dict[str, ScheduledRun] = {}
    runs: dict[str, RunView] = {}
    for event in events:
        match event:
            case e.MessageReceived(inbound=inbound) if inbound.account == SCHEDULE:
                waiting[ref(inbound)] = inbound
                runs[ref(inbound)] = RunView(due=_due(inbound), state="waiting", why="it waits")
            case e.TurnStarted(turn=turn, messages=(message, *_), at=at):
                inbound_ = waiting.pop(message, None)
                runs.pop(message, None)
                due = _due(inbound_) if inbound_ is not None else None
                runs[turn] = RunView(due=due, began=at, turn=turn)
                if inbound_ is not None and inbound_.options and inbound_.options.run:
                    known[turn] = inbound_.options.run
            case e.MessageDropped(message=message):
                runs.pop(message, None)
            case OccurrencesSkipped(last=last, count=count, why=why):
                skipped = RunView(due=last, state="skipped", why=why, count=count)
                runs[f"skipped {event.first} {event.at}"] = skipped
            case _:
                _follow(runs, known, event)
    return [replace(run, **_delivery(run, sent)) for run in runs.values()]


def _follow(runs: dict[str, RunView], known: dict[str, ScheduledRun], event: e.Event) -> None:
    match event:
        case e.QuestionAsked(turn=turn) if turn in runs:
            runs[turn] = replace(runs[turn], state="waiting", why="it waits for your answer")
        case e.QuestionAnswered(turn=turn) | e.TurnResumed(turn=turn) if turn in runs:
            runs[turn] = replace(runs[turn], state="running", why="")
        case e.ModelAnswered(turn=turn, text=text, calls=()) if turn in runs:
            runs[turn] = replace(runs[turn], why="silent" if is_silent(text) else "")
        case e.TurnEnded(turn=turn) if turn in runs:
            runs[turn] = _ended(runs[turn], event, known.get(turn))
        case e.TurnInterrupted(turn=turn, why=why, at=at) if turn in runs:
            said = "stopped by a person" if why == "stopped" else ENDED_BY.get(why, why)
            runs[turn] = replace(runs[turn], state="stopped", ended=at, why=said)
        case _:
            pass


def _ended(run: RunView, event: e.TurnEnded, how: ScheduledRun | None) -> RunView:
    if event.outcome == "failed":
        return replace(run, state="failed", ended=event.at, why=event.why)
    sent = any(reply.kind == "answer" or not _is_notice(reply.id) for reply in event.replies)
    silent = run.why == "silent" or (bool(how and how.targets) and not sent)
    if silent:
        return replace(run, state="silent", ended=event.at, why="there was nothing to say")
    if how is not None and how.late_s:
        why = f"late by {span_in_words(how.late_s)}"
        return replace(run, state="late", ended=event.at, why=why)
    return replace(run, state="done", ended=event.at, why="")


def _is_notice(reply: str) -> bool:
    return "/notice-" in reply


def _delivery(run: RunView, sent: Sequence[OutboxRow]) -> dict[str, object]:
    """Of the answer alone: notices about failures are not what the job was made for."""
    own = [
        row
        for row in sent
        if run.turn and row.reply.id.startswith(f"{run.turn}/") and not _is_notice(row.reply.id)
    ]
    targets = tuple(RunTarget(place_of(row.reply.address), row.state) for row in own)
    done = bool(own) and all(row.state == "delivered" for row in own)
    return {"targets": targets, "delivered": done}


def _due(inbound: Inbound) -> float | None:
    run = inbound.options.run if inbound.options is not None else None
    return run.due or None if run is not None else None
