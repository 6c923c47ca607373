"""From a decision about a goal to the events that make it true. Part of the planner."""

from collections.abc import Callable, Mapping

from hermes.core import events as e
from hermes.core import steps as s
from hermes.core.errors import Refused
from hermes.core.goals import Goal, continuation
from hermes.core.ids import ReplyId
from hermes.core.messages import Reply, Usage
from hermes.core.session import Session
from hermes.text.plurals import counted
from hermes.views.amounts import money, tokens

Cost = Callable[[Mapping[str, Usage]], float | None]
STOPPED = (
    "I stopped working on the goal: {why}. {spent} /goal resume continues, /goal clear ends it."
)
REACHED = "The goal is reached{why}. {spent}"


def goal_events(
    session: Session, step: s.ContinueGoal | s.PauseGoal | s.EndGoal, at: float, cost: Cost
) -> tuple[e.Event, ...]:
    goal = session.goal
    if goal is None:
        raise Refused("the session has no goal")
    spent = spent_words(goal, cost(goal.usage))
    match step:
        case s.ContinueGoal():
            message = continuation(goal, session.key, session.id, at)
            return (e.MessageReceived(message, session.id),)
        case s.PauseGoal(why=why):
            reply = _reply(session, goal, STOPPED.format(why=why, spent=spent))
            return (e.GoalPaused(why, at, (reply,)),)
        case s.EndGoal(why=why):
            text = REACHED.format(why=f": {why}" if why else "", spent=spent)
            return (e.GoalSet(None, at, (_reply(session, goal, text),)),)


def spent_words(goal: Goal, cost: float | None) -> str:
    """What the work on a goal took so far, as a sentence."""
    price = f", {money(cost)}" if cost is not None else ""
    return f"It took {counted(goal.turns, 'turn')}, {tokens(goal.tokens)} tokens{price}."


def _reply(session: Session, goal: Goal, text: str) -> Reply:
    id_ = ReplyId(f"{session.id}/goal-{session.position}")
    return Reply(id=id_, session=session.key, address=goal.address, text=text, kind="notice")
