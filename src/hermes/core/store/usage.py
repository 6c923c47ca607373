"""What models and tools cost, summed by day, model, purpose, platform, session and person."""

from typing import Literal

from msgspec import Struct

from hermes.core.messages import Usage

Dimension = Literal["day", "model", "purpose", "platform", "session", "person"]


class UsageSum(Struct, frozen=True, kw_only=True):
    """Model calls with one `name` in common: an ISO date (UTC), a model, a purpose, a platform, a
    session's key or a person's id; "" for sessions that were deleted. Always of one model, and
    either all of them with the provider's own cost, or none (`usage.cost` is None)."""

    by: Dimension
    name: str
    model: str
    calls: int
    usage: Usage


class ToolSum(Struct, frozen=True, kw_only=True):
    """`seconds` are those of the `timed` calls."""

    tool: str
    calls: int
    failed: int
    timed: int
    seconds: float


class Spending(Struct, frozen=True, kw_only=True):
    """Sums over all dimensions, each cut to its greatest."""

    sums: tuple[UsageSum, ...] = ()
    tools: tuple[ToolSum, ...] = ()
