"""What to do next for the goal of a session. Part of `next_step`."""

from hermes.core.goals import JUDGE_ERRORS_MAX, Goal, is_words_of_a_person, limit_reached
from hermes.core.rules import DecisionContext, Rules
from hermes.core.session import Session
from hermes.core.steps import ContinueGoal, EndGoal, JudgeGoal, PauseGoal, Postpone, Rest

WROTE = "you wrote"
BLOCKED = "it cannot continue without you"
ASKS = "a question waits for you"


def goal_interrupted(session: Session) -> PauseGoal | None:
    """Every message of a person and every question ends the work on a goal."""
    goal = session.goal
    if goal is None or goal.paused:
        return None
    if any(map(is_words_of_a_person, session.waiting)):
        return PauseGoal(WROTE)
    return PauseGoal(ASKS) if session.questions else None


def next_for_goal(
    session: Session, rules: Rules, context: DecisionContext
) -> JudgeGoal | ContinueGoal | PauseGoal | EndGoal | Postpone | Rest:
    """For a session without a turn and without messages."""
    goal = session.goal
    if goal is None or goal.paused:
        return Rest()
    if context.draining:
        return Postpone()
    if goal.stage == "unjudged":
        return _judged(goal)
    if goal.verdict == "done":
        return EndGoal(goal.hint)
    if goal.verdict == "blocked":
        return PauseGoal(f"it cannot continue without you ({goal.hint})" if goal.hint else BLOCKED)
    why = limit_reached(goal, rules.cost(goal.usage))
    return PauseGoal(why) if why else ContinueGoal()


def _judged(goal: Goal) -> JudgeGoal | PauseGoal:
    if goal.errors >= JUDGE_ERRORS_MAX:
        return PauseGoal(f"it could not be judged, {goal.errors} times in a row: {goal.hint}")
    return JudgeGoal(goal.turns, goal.errors)
