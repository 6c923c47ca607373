"""How a job's run ends: what is sent where, what silence is, and what is said about failures. Pure.

A failure is told once for each cause, and once more when it is over; a job that fails every minute
does not write every minute.
"""

import msgspec

from hermes.core.events import TurnEnded
from hermes.core.ids import ReplyId
from hermes.core.messages import Address, Reply, ReplyKind, ScheduledRun
from hermes.core.session import Session, Turn
from hermes.core.steps import Finish

SILENT = ("[SILENT]", "NO_REPLY")  # a whole answer that is sent to nobody
WHY_CHARS_MAX = 600
NO_OUTPUT = "(The script failed without a word.)"


def is_silent(text: str) -> bool:
    return not text.strip() or text.strip() in SILENT


def wants_model(output: str) -> bool:
    """Return False if the last line of a script's output is the JSON object that says so."""
    lines = output.strip().splitlines()
    last = lines[-1].strip() if lines else ""
    if not (last.startswith("{") and last.endswith("}")):
        return True
    try:
        said = msgspec.json.decode(last, type=dict[str, object])
    except msgspec.MsgspecError:
        return True
    return said.get("wakeAgent") is not False


def end_of_run(turn: Turn, at: float) -> Finish | None:
    """Return how the run ends without asking a model (again); None: one is asked."""
    run = turn.options.run
    if run is None:
        return None
    if turn.options.calls and turn.steps == 1:
        if turn.fault:
            return Finish(turn.id, turn.fault.strip() or NO_OUTPUT, failed=True)
        if run.then == "gate" and not wants_model(turn.given):
            return Finish(turn.id, SILENT[0])
        if run.then == "answer":
            return Finish(turn.id, turn.given.strip() or SILENT[0])
    if run.tokens_max and turn.tokens >= run.tokens_max:
        why = f"it used {turn.tokens:,} tokens, and its budget is {run.tokens_max:,} a run"
        return Finish(turn.id, why, failed=True)
    if run.timeout_s and at - turn.started_at > run.timeout_s:
        return Finish(turn.id, f"it took longer than {run.timeout_s:g} s", failed=True)
    return None


def run_ended(session: Session, turn: Turn, text: str, at: float, *, failed: bool) -> TurnEnded:
    """Return the end of a run, with all that is sent because of it."""
    run = turn.options.run
    assert run is not None, "only a job's turn is a run"
    if failed:
        why = text.strip()[:WHY_CHARS_MAX]
        known = session.incident == why
        told = () if known else _notices(session, turn, run, _failure(run, why))
        return TurnEnded(turn.id, "failed", at, told, why)
    again = _notices(session, turn, run, _recovery(run, session.failures), first=len(run.targets))
    kind: ReplyKind = "answer" if run.attach else "notice"
    replies = () if is_silent(text) else _replies(session, turn, run.targets, text, kind)
    return TurnEnded(turn.id, "answered", at, (*replies, *(again if session.failures else ())))


def _replies(
    session: Session, turn: Turn, targets: tuple[Address, ...], text: str, kind: ReplyKind
) -> tuple[Reply, ...]:
    return tuple(
        Reply(
            id=ReplyId(f"{turn.id}/{n}"),
            session=session.key,
            address=address,
            text=text,
            kind=kind,
            labels=session.view.labels,
        )
        for n, address in enumerate(targets)
    )


def _notices(
    session: Session, turn: Turn, run: ScheduledRun, text: str, first: int = 0
) -> tuple[Reply, ...]:
    return tuple(
        Reply(
            id=ReplyId(f"{turn.id}/notice-{first + n}"),
            session=session.key,
            address=address,
            text=text,
            kind="notice",
        )
        for n, address in enumerate(run.told)
    )


def _failure(run: ScheduledRun, why: str) -> str:
    return (
        f"The scheduled job “{run.name}” failed: {why}\n"
        f"I will not repeat this message while the reason stays the same. See what happened with: "
        f"hermes cron history {run.job}"
    )


def _recovery(run: ScheduledRun, failures: int) -> str:
    times = "after a failed run" if failures == 1 else f"after {failures} failed runs"
    return f"The scheduled job “{run.name}” works again, {times}."
