"""Limits on a turn, and how many tokens a text costs before a provider has counted it."""

from collections.abc import Mapping

from msgspec import Struct

from hermes.core.messages import Line
from hermes.core.session import Turn

BYTES_PER_TOKEN = 3.6  # English prose is about 4, code and JSON about 3; err on the dear side
TOKENS_PER_LINE = 4
TOKENS_PER_IMAGE = 1_200
ANEW = "It resets at midnight UTC; the owner can raise it in config.yaml."


class TurnLimits(Struct, frozen=True, kw_only=True):
    """How far one turn may go by itself."""

    steps_max: int = 90
    tokens_max: int = 4_000_000


def spent(turn: Turn, limits: TurnLimits) -> str:
    """Why the turn must end now; empty while it may go on. Its own limits only lower ours."""
    if turn.options.scripted:
        return ""
    steps = min(filter(None, (limits.steps_max, turn.options.steps_max)))
    if turn.steps >= steps:
        return (
            f"I stopped after {steps} steps without an answer. Write “continue” to go on from here."
        )
    if turn.tokens >= min(filter(None, (limits.tokens_max, turn.options.tokens_max))):
        return (
            f"I stopped after {turn.tokens:,} tokens, the limit of one turn. "
            "Write “continue” to go on from here."
        )
    return ""


class Budgets(Struct, frozen=True, kw_only=True):
    """Spending limits; a missing number means no limit. Unattended work may use only a share, so
    that it stops first."""

    session_tokens: int | None = None
    person_day_tokens: int | None = None
    day_tokens: int | None = None
    day_cost: float | None = None
    automation_share: float = 0.8

    @property
    def by_day(self) -> bool:
        return any((self.person_day_tokens, self.day_tokens, self.day_cost))


class SpentToday(Struct, frozen=True, kw_only=True):
    """What was spent since midnight UTC, in total and by each person."""

    tokens: int = 0
    cost: float = 0.0
    persons: Mapping[str, int] = {}


def over_budget(turn: Turn, used: int, ledger: SpentToday, budgets: Budgets) -> str:
    """Why no model may be asked for this turn; empty while one may. `used` are the conversation's
    own tokens."""
    person = turn.origin == "person"
    share = 1.0 if person else budgets.automation_share
    accounts = (
        ("session_tokens", used, budgets.session_tokens, "Start a new conversation with /new."),
        ("person_day_tokens", ledger.persons.get(turn.sender, 0), budgets.person_day_tokens, ANEW),
        ("day_tokens", ledger.tokens, budgets.day_tokens, ANEW),
        ("day_cost", ledger.cost, budgets.day_cost, ANEW),
    )
    for name, spent_, limit, advice in accounts:
        if limit is not None and spent_ >= share * limit:
            whose = "" if person else f" (automatic work may use {share:.0%} of it)"
            return (
                f"I stopped because a budget is used up: budgets.{name} is {limit:,}{whose}, and "
                f"{spent_:,.6g} are spent. {advice}"
            )
    return ""


def tokens_of(text: str) -> int:
    return round(len(text.encode()) / BYTES_PER_TOKEN)


def tokens_of_line(line: Line) -> int:
    calls = sum(tokens_of(call.arguments) + tokens_of(call.tool) for call in line.calls)
    thoughts = sum(tokens_of(thought.text or thought.opaque) for thought in line.thoughts)
    return (
        TOKENS_PER_LINE
        + tokens_of(line.text)
        + calls
        + thoughts
        + TOKENS_PER_IMAGE * len(line.media)
    )
