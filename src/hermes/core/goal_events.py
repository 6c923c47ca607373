"""Facts about a session's goal: set or cleared, paused, judged after a turn."""

from msgspec import Struct

from hermes.core.goals import Goal, Judgement
from hermes.core.messages import Reply, Spent


class GoalSet(Struct, frozen=True, tag="goal_set.1", omit_defaults=True):
    """The session works towards this by itself from now on; without one, no longer."""

    goal: Goal | None
    at: float
    replies: tuple[Reply, ...] = ()


class GoalPaused(Struct, frozen=True, tag="goal_paused.1", omit_defaults=True):
    why: str  # no turn begins for the goal until a person says so
    at: float
    replies: tuple[Reply, ...] = ()


class GoalJudged(Struct, frozen=True, tag="goal_judged.1", omit_defaults=True):
    verdict: Judgement  # of a small model about the last turn, or that there is none
    at: float
    why: str = ""
    spent: tuple[Spent, ...] = ()
