"""A goal that a session works towards by itself, turn after turn, within limits. Pure.

After each turn a small model judges whether it is reached. It ends at its limits, when it repeats
itself, when it cannot be judged, when a question is open, and with every message of a person.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound, Line, Person, Usage, together
from hermes.core.people import derived
from hermes.core.principal import Principal

TURNS_MAX = 20
JUDGE_ERRORS_MAX = 2  # in a row
EQUAL_MAX = 2  # answers in a row
CALLS_MAX, RESULT_CHARS, ANSWER_CHARS = 30, 300, 4_000  # that a judge reads
ACCOUNT = "goal"  # of the messages that continue the work; no channel has it

Judgement = Literal["go_on", "done", "blocked", "error"]
# `ready`: a turn may begin. `working`: one is open. `unjudged`: one has ended.
GoalStage = Literal["ready", "working", "unjudged"]

FIRST = """\
Work towards this goal, and go on by yourself until it is reached:
{goal}
When it is reached, say so with the words GOAL DONE. When you cannot go on without a person, say \
GOAL BLOCKED and what you need."""
NEXT = """\
[Hermes, not the person: the goal is not reached yet. {hint}Go on: {goal}
Say GOAL DONE when it is reached, or GOAL BLOCKED and what you need.]"""
TASK = """\
You judge whether an assistant has reached a goal. Answer with one line: DONE, BLOCKED or GO ON, \
then a colon and the reason or the next step in at most 20 words. DONE only if the answer and the \
calls show it; a claim alone is not enough. BLOCKED if it needs a person."""


class Goal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be reached, for whom, and how far it has come."""

    text: str
    sender: Person
    address: Address
    principal: Principal
    at: float
    turns_max: int = TURNS_MAX
    cost_max: float | None = None
    stage: GoalStage = "ready"
    paused: str = ""  # why it is not worked on now; "": it is
    turns: int = 0
    answer: str = ""  # the digest of the last one
    equal: int = 0  # answers that were the same, in a row
    errors: int = 0  # of the judge, in a row
    verdict: str = ""  # of the judge about the last turn
    hint: str = ""  # of the judge: why, or what is next
    usage: dict[str, Usage] = {}  # by model

    @property
    def tokens(self) -> int:
        return sum(usage.input + usage.output for usage in self.usage.values())


def limit_reached(goal: Goal, cost: float | None) -> str:
    """Say why no further turn may begin; empty while one may. `cost` is None when a price is not
    known: a budget that cannot be counted is not spent."""
    if goal.equal >= EQUAL_MAX:
        return "two answers in a row were the same"
    if goal.turns >= goal.turns_max:
        return f"the limit of {goal.turns_max} turns is reached"
    if goal.cost_max is not None and goal.turns and cost is None:
        return "its budget cannot be counted: the price of the model is not known"
    if goal.cost_max is not None and (cost or 0.0) >= goal.cost_max:
        return f"its budget of ${goal.cost_max:g} is used up"
    return ""


def continuation(goal: Goal, session: SessionKey, conversation: str, at: float) -> Inbound:
    """Return the message that begins the next turn: an event of ours, not words of the person."""
    hint = f"{goal.hint} " if goal.hint else ""
    text = NEXT.format(goal=goal.text, hint=hint) if goal.turns else FIRST.format(goal=goal.text)
    message = Inbound(
        id=MessageId(f"{conversation}/{goal.at:.3f}/{goal.turns + 1}"),
        account=ACCOUNT,
        session=session,
        sender=goal.sender,
        address=goal.address,
        text=text,
        at=at,
        origin="background",
        waits=True,
    )
    return derived(message, goal.principal)


def is_words_of_a_person(inbound: Inbound) -> bool:
    """Return True for a message that ends the work on a goal; a command is none."""
    return inbound.origin == "person" and not inbound.text.startswith("/")


def after_turn(goal: Goal, answer: str) -> Goal:
    """Return the goal when a turn for it has ended with this answer."""
    digest = sha256(" ".join(answer.split()).encode()).hexdigest()[:16]
    equal = goal.equal + 1 if digest == goal.answer else 1
    return replace(goal, stage="unjudged", answer=digest, equal=equal)


def after_spending(goal: Goal, model: str, usage: Usage) -> Goal:
    known = goal.usage.get(model)
    spent = usage if known is None else together((known, usage))
    return replace(goal, usage={**goal.usage, model: spent})


def judged_text(goal: Goal, lines: Sequence[Line], todo: str) -> str:
    """What the judge reads: the goal, the last turn's calls and their ends, and its answer."""
    last = max((n for n, line in enumerate(lines) if line.role == "user"), default=0)
    names = {call.id: call.tool for line in lines[last:] for call in line.calls}
    calls = [
        f"- {names.get(line.call, 'a call')}: {line.outcome.value if line.outcome else 'ok'}: "
        f"{' '.join(line.text.split())[:RESULT_CHARS]}"
        for line in lines[last:]
        if line.role == "tool"
    ]
    answer = next((line.text for line in reversed(lines) if line.role == "assistant"), "")
    shown = "\n".join(calls[-CALLS_MAX:]) or "- none"
    plan = f"\n\nIts to-do list:\n{todo[:RESULT_CHARS]}" if todo else ""
    return f"Goal:\n{goal.text}\n\nCalls:\n{shown}{plan}\n\nAnswer:\n{answer[-ANSWER_CHARS:]}"


def verdict_in(text: str) -> tuple[Judgement, str]:
    """Read the judge's line. What cannot be read is an error, never a yes to going on."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    word, _, why = line.strip("*_# ").partition(":")
    said = " ".join(word.strip("*_ .").upper().split())
    verdicts: dict[str, Judgement] = {"DONE": "done", "BLOCKED": "blocked", "GO ON": "go_on"}
    return verdicts.get(said, "error"), why.strip()
