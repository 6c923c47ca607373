"""Shared parts of both protocols for assembling an answer. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from hermes.core.errors import ProviderGarbled, ProviderRefused
from hermes.core.ports import RawCall
from hermes.providers.endpoint import EndpointLabel

CALLS_MAX: Final = 128
TOKENS_MAX: Final = 10**9  # of one count; they are added up for ever
EXCERPT_BYTES_MAX: Final = 120
ANSWER_CHARS_MAX: Final = 1_000_000  # text, thoughts and arguments together; more is not read
CUT_ANSWER: Final = "\n\n(This answer is longer than {:,} characters. I cut it off here.)"
CUT_ARGUMENTS: Final = "{"  # stands for arguments of which nothing came before the output limit

Finish = Literal["stop", "length", "calls", "filtered"]
Count = int | float | None


def count(value: Count) -> int:
    """Return a token count within bounds, whatever number a server sent."""
    return int(min(max(value or 0, 0), TOKENS_MAX))


def raw_calls(whom: EndpointLabel, calls: Sequence[RawCall], finish: Finish) -> tuple[RawCall, ...]:
    """Return the calls as written. A blank last call that the output limit cut off is marked as
    truncated, so that it is not taken for a call without arguments."""
    if len(calls) > CALLS_MAX:
        raise ProviderGarbled(f"{whom.name} made more than {CALLS_MAX} calls in one answer.")
    if calls and finish == "length" and not calls[-1].arguments.strip():
        return (*calls[:-1], RawCall(calls[-1].tool, CUT_ARGUMENTS))
    return tuple(calls)


class Length:
    """The length of an answer so far. An answer that exceeds the limit is cut off, and says so."""

    def __init__(self) -> None:
        self._left = ANSWER_CHARS_MAX

    @property
    def over(self) -> bool:
        return self._left < 0

    def add(self, *pieces: str | None) -> bool:
        """Count a piece. Return True when the limit is exceeded."""
        self._left -= sum(len(piece) for piece in pieces if piece)
        return self.over

    def bounded(self, text: str) -> str:
        """Return the text for display, with a note about what is missing."""
        return text[:ANSWER_CHARS_MAX] + CUT_ANSWER.format(ANSWER_CHARS_MAX) if self.over else text

    def finish(self, named: Finish, calls: Sequence[object]) -> Finish:
        """Return the finish reason. A call that was being written at the limit is incomplete."""
        return ("length" if calls else "stop") if self.over else named


def cut_off(whom: EndpointLabel) -> ProviderGarbled:
    return ProviderGarbled(f"{whom.name}: the answer was cut off before its end.")


def foreign(whom: EndpointLabel, data: bytes) -> ProviderGarbled:
    shown = whom.line(data[:EXCERPT_BYTES_MAX].decode("utf-8", "replace"))
    return ProviderGarbled(f"{whom.name} sent what is not its protocol: {shown}")


def wordless(whom: EndpointLabel, finish: Finish) -> ProviderGarbled | ProviderRefused:
    """Return the error for an answer without text and calls. It is transient only where another
    attempt may succeed."""
    if finish == "length":
        return ProviderRefused(
            f"{whom.name}: the output limit was reached before the answer began. "
            "Raise the output limit or let the model think less."
        )
    if finish == "filtered":
        return ProviderRefused(f"{whom.name}: the provider's filter withheld the answer.")
    return ProviderGarbled(f"{whom.name}: the answer was empty.")
