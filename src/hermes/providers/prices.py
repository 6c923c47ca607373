"""The cost of model calls in US dollars: from the provider, the owner's settings, or a price list.

An unknown cost is None, never 0.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Protocol

from hermes.core.messages import Usage

MILLION = 1_000_000
# They run on a machine of one's own.
LOCAL = frozenset({"ollama", "lmstudio", "vllm", "local", "scripted"})

# Provider, model, tokens, in how many calls: a look-up in a maintained price list.
Listed = Callable[[str, str, Usage, int], float | None]


class Rate(Protocol):
    """US dollars per million tokens. Without a price of their own, cached tokens cost the same."""

    @property
    def input(self) -> float: ...

    @property
    def output(self) -> float: ...

    @property
    def cached(self) -> float | None: ...


def cost_of(
    model: str,
    usage: Usage,
    overrides: Mapping[str, Rate],
    *,
    calls: int = 1,
    listed: Listed | None = None,
) -> float | None:
    """Return the cost of `calls` calls together. `model` is provider:model. An override names
    either or a pattern (`*sonnet*`); an exact name wins, then the first match."""
    if usage.cost is not None:
        return usage.cost
    provider, _, name = model.partition(":")
    rate = _override(model, name, overrides)
    if rate is not None:
        return _by_rate(usage, rate)
    if provider in LOCAL:
        return 0.0
    return listed(provider, name, usage, calls) if listed is not None and name else None


def _override(model: str, name: str, overrides: Mapping[str, Rate]) -> Rate | None:
    for known in (model, name):
        if known in overrides:
            return overrides[known]
    fitting = (
        rate
        for pattern, rate in overrides.items()
        if fnmatchcase(model, pattern) or (name and fnmatchcase(name, pattern))
    )
    return next(fitting, None)


def _by_rate(usage: Usage, rate: Rate) -> float:
    cached = min(usage.cached, usage.input)
    cached_rate = rate.input if rate.cached is None else rate.cached
    fresh = (usage.input - cached) * rate.input
    return (fresh + cached * cached_rate + usage.output * rate.output) / MILLION
