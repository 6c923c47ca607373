"""What both protocols need to put an answer together. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from hermes.core.errors import ProviderGarbled, ProviderRefused
from hermes.core.ports import RawCall
from hermes.providers.whom import Whom

CALLS_MAX: Final = 128
TOKENS_MAX: Final = 10**9  # of one count; they are added up for ever
EXCERPT_BYTES_MAX: Final = 120
CUT_ARGUMENTS: Final = "{"  # stands for arguments of which nothing came before the output limit

Finish = Literal["stop", "length", "calls", "filtered"]
Count = int | float | None


def count(value: Count) -> int:
    """A number of tokens, whatever a server calls one."""
    return int(min(max(value or 0, 0), TOKENS_MAX))


def raw_calls(whom: Whom, calls: Sequence[RawCall], finish: Finish) -> tuple[RawCall, ...]:
    """As written; but a blank last one that the output limit cut is not one without arguments."""
    if len(calls) > CALLS_MAX:
        raise ProviderGarbled(f"{whom.name} made more than {CALLS_MAX} calls in one answer.")
    if calls and finish == "length" and not calls[-1].arguments.strip():
        return (*calls[:-1], RawCall(calls[-1].tool, CUT_ARGUMENTS))
    return tuple(calls)


def cut_off(whom: Whom) -> ProviderGarbled:
    return ProviderGarbled(f"{whom.name}: the answer was cut off before its end.")


def foreign(whom: Whom, data: bytes) -> ProviderGarbled:
    shown = whom.line(data[:EXCERPT_BYTES_MAX].decode("utf-8", "replace"))
    return ProviderGarbled(f"{whom.name} sent what is not its protocol: {shown}")


def wordless(whom: Whom, finish: Finish) -> ProviderGarbled | ProviderRefused:
    """The error for an answer without text and calls. Asking again helps only where it is luck."""
    if finish == "length":
        return ProviderRefused(
            f"{whom.name}: the output limit was reached before the answer began. "
            "Raise the output limit or let the model think less."
        )
    if finish == "filtered":
        return ProviderRefused(f"{whom.name}: the provider's filter withheld the answer.")
    return ProviderGarbled(f"{whom.name}: the answer was empty.")
