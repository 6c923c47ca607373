"""How events change the goal of a session. Part of `fold`."""

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.fold_views import demand
from hermes.core.goals import ACCOUNT, Goal, after_spending, after_turn
from hermes.core.messages import Inbound
from hermes.core.session import Session, Turn


def goal_set(session: Session, event: e.GoalSet) -> Session:
    return replace(session, goal=event.goal)


def goal_paused(session: Session, event: e.GoalPaused) -> Session:
    return paused(session, event.why)


def goal_judged(session: Session, event: e.GoalJudged) -> Session:
    """It counts only for the turn that it was asked about."""
    goal = session.goal
    demand(goal is not None and goal.stage == "unjudged" and not goal.paused, "no goal is judged")
    assert goal is not None
    for spent in event.spent:
        goal = after_spending(goal, spent.model, spent.usage)
    if event.verdict == "error":
        return replace(session, goal=replace(goal, errors=goal.errors + 1, hint=event.why))
    judged = replace(goal, stage="ready", errors=0, verdict=event.verdict, hint=event.why)
    return replace(session, goal=judged)


def paused(session: Session, why: str) -> Session:
    goal = session.goal
    return session if goal is None else replace(session, goal=replace(goal, paused=why))


def begun(goal: Goal | None, taken: tuple[Inbound, ...]) -> Goal | None:
    """The goal when a turn begins that may be one for it."""
    if goal is None or not any(inbound.account == ACCOUNT for inbound in taken):
        return goal
    return replace(goal, stage="working", turns=goal.turns + 1, verdict="")


def ended(goal: Goal | None, turn: Turn, outcome: str) -> Goal | None:
    """The goal when a turn has ended that may have been one for it."""
    if goal is None or goal.stage != "working":
        return goal
    if outcome != "answered" or turn.answer is None:
        return replace(goal, stage="ready", paused="its last turn could not be finished")
    return after_turn(goal, turn.answer)


def interrupted(goal: Goal | None) -> Goal | None:
    if goal is None or goal.stage != "working":
        return goal
    return replace(goal, stage="ready", paused="its turn was stopped")


def spent(goal: Goal | None, event: e.ModelAnswered) -> Goal | None:
    if goal is None or goal.stage != "working":
        return goal
    return after_spending(goal, event.model, event.usage)
