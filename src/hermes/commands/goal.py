"""`/goal`: work towards something turn after turn, within limits, until it is reached."""

import re

from msgspec.structs import replace

from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.events import GoalPaused, GoalSet
from hermes.core.goals import TURNS_MAX, Goal
from hermes.core.people import Role, principal_of, sender_of
from hermes.core.rules import Busy
from hermes.text.plurals import counted
from hermes.views.amounts import tokens

GOAL_CHARS_MAX = 4_000
MOST_TURNS = 200
_OPTION = re.compile(r"\s--(turns|budget)(?:=|\s+)(\S+)")
NONE = "There is no goal. Set one: /goal TEXT [--turns 20] [--budget 2$]"
CLEARED = "The goal is cleared."
PAUSED = "Paused. /goal resume continues."
RESUMED = "I am working on the goal again."
BEGUN = (
    "I am working on it by myself now, for at most {turns}{money}. I stop when it is reached, when "
    "I need you, and when you write. /goal shows how far I am; /goal pause and /goal clear end it."
)


def _goal(order: CommandCall) -> CommandResult:
    goal, word = order.session.goal, order.argument.strip().lower()
    match word:
        case "":
            return _said(order, NONE if goal is None else status_of(goal))
        case "pause" | "resume" | "clear" if goal is None:
            return _said(order, NONE)
        case "clear":
            return _said(order, CLEARED, GoalSet(None, order.at))
        case "pause":
            return _said(order, PAUSED, GoalPaused("you paused it", order.at))
        case "resume" if goal is not None:
            again = replace(goal, paused="", turns=0, equal=0, errors=0, verdict="", at=order.at)
            stage = again.stage if again.stage == "working" else "ready"
            anew = replace(again, stage=stage, usage={})
            return _said(order, RESUMED, GoalSet(anew, order.at))
        case _:
            return _begun(order)


def _begun(order: CommandCall) -> CommandResult:
    said = order.inbound
    text, turns, budget = _options(order.argument)
    if isinstance(turns, str):
        return _said(order, turns)
    goal = Goal(
        text=text,
        sender=said.sender,
        address=said.address,
        principal=replace(principal_of(sender_of(said), said.labels), ceiling=order.role),
        at=order.at,
        turns_max=turns,
        cost_max=budget,
    )
    money = f" and ${budget:g}" if budget is not None else ""
    told = BEGUN.format(turns=counted(turns, "turn"), money=money)
    return _said(order, told, GoalSet(goal, order.at))


def _options(argument: str) -> tuple[str, int | str, float | None]:
    """Return the goal, its turns (or what is wrong) and its budget."""
    given = dict(_OPTION.findall(f" {argument}"))
    text = _OPTION.sub("", f" {argument}").strip()
    turns, budget = given.get("turns", str(TURNS_MAX)), given.get("budget", "").strip("$")
    if not text or len(text) > GOAL_CHARS_MAX:
        return text, f"Say the goal in 1 to {GOAL_CHARS_MAX:,} characters: /goal TEXT", None
    if not turns.isdecimal() or not 1 <= int(turns) <= MOST_TURNS:
        return text, f"--turns: give a whole number, 1 to {MOST_TURNS}.", None
    if not budget:
        return text, int(turns), None
    if not re.fullmatch(r"\d+(\.\d+)?", budget) or float(budget) <= 0:
        return text, "--budget: give an amount in US dollars, such as 2$ or 0.50.", None
    return text, int(turns), float(budget)


def status_of(goal: Goal) -> str:
    state = f"Paused: {goal.paused}." if goal.paused else "I am working on it."
    limit = f" of ${goal.cost_max:g}" if goal.cost_max is not None else ""
    done = f"{counted(goal.turns, 'turn')} of {goal.turns_max}, {tokens(goal.tokens)} tokens{limit}"
    return f"Goal: {goal.text}\n{state} {done}."


def _said(order: CommandCall, text: str, *events: GoalSet | GoalPaused) -> CommandResult:
    return CommandResult(events=events, replies=(order.reply(text),))


GOAL_COMMAND = Command(
    name="/goal",
    least=Role.PAIRED,
    busy=Busy.NOW,
    summary="Work towards a goal by yourself, within limits; alone it shows how far it is",
    run=_goal,
    argument="[TEXT [--turns N] [--budget $], pause, resume, clear]",
)
