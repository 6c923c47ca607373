"""Limits on a turn, and how many tokens a text costs before a provider has counted it."""

from msgspec import Struct

from hermes.core.messages import Line
from hermes.core.session import Turn

BYTES_PER_TOKEN = 3.6  # English prose is about 4, code and JSON about 3; err on the dear side
TOKENS_PER_LINE = 4
TOKENS_PER_IMAGE = 1_200


class Limits(Struct, frozen=True, kw_only=True):
    """How far one turn may go by itself."""

    steps_max: int = 90
    tokens_max: int = 4_000_000


def spent(turn: Turn, limits: Limits) -> str:
    """Why the turn must end now; empty while it may go on."""
    if turn.steps >= limits.steps_max:
        return (
            f"I stopped after {limits.steps_max} steps without an answer. "
            "Say “go on” to continue from here."
        )
    if turn.tokens >= limits.tokens_max:
        return (
            f"I stopped after {turn.tokens:,} tokens, the limit of one turn. "
            "Say “go on” to continue from here."
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
