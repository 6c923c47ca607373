"""Retry with backoff, then fall back to the next provider."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from hermes.core.errors import (
    ContextOverflow,
    ProviderDenied,
    ProviderFailed,
    ProviderRefused,
    ProviderTransient,
)
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Retrying, Watch
from hermes.providers.settings import RetryLimits

DOUBLINGS_MAX = 16  # beyond this a wait has long been cut to its maximum


class ChainLink(Protocol):
    """One provider of a chain."""

    @property
    def name(self) -> str: ...

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer: ...

    async def aclose(self) -> None: ...


def _chance() -> float:
    """Return a random number from 0 (inclusive) to 1 (exclusive)."""
    return int.from_bytes(os.urandom(6), "big") / 2**48


class ProviderChain:
    """A provider made of providers. It has the name of the first; an Answer says which one gave
    it."""

    def __init__(
        self,
        links: Sequence[ChainLink],
        patience: RetryLimits,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = _chance,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._links = tuple(links)
        self._patience = patience
        self._sleep = sleep
        self._draw = draw
        self._clock = clock

    @property
    def name(self) -> str:
        return self._links[0].name

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        until = self._clock() + self._patience.total_s
        failures: list[ProviderFailed] = []
        for link in self._links:
            for attempt in range(max(1, self._patience.attempts_max)):
                try:
                    return await link.ask(request, watch)
                except ContextOverflow:
                    raise  # a shorter conversation helps, asking again does not
                except (ProviderDenied, ProviderRefused) as failed:
                    failures.append(failed)
                    break
                except ProviderTransient as failed:
                    failures.append(failed)
                    delay_s = self._delay(failed, attempt, until)
                    if delay_s is None:
                        break
                    watch(Retrying(str(failed), delay_s))
                    await self._sleep(delay_s)
            if link is not self._links[-1]:
                watch(Retrying(str(failures[-1]), 0.0))
        raise _summed_up(failures)

    async def aclose(self) -> None:
        for link in self._links:
            await link.aclose()

    def _delay(self, failed: ProviderTransient, attempt: int, until: float) -> float | None:
        """Return how long to wait before the same provider is retried; None to stop retrying it."""
        patience = self._patience
        if attempt + 1 >= patience.attempts_max:
            return None
        grown = patience.base_s * 2.0 ** min(attempt, DOUBLINGS_MAX)
        jitter = self._draw() * min(grown, patience.backoff_max_s)
        if failed.delay_s is not None and failed.delay_s > patience.asked_delay_max_s:
            return None
        delay_s = (failed.delay_s or 0.0) + jitter
        return delay_s if self._clock() + delay_s < until else None


def _summed_up(failures: Sequence[ProviderFailed]) -> ProviderFailed:
    """Return the last error, with a text that lists all attempts."""
    last = failures[-1]
    if len(failures) == 1:
        return last
    counts: dict[str, int] = {}
    for failed in failures:
        counts[str(failed)] = counts.get(str(failed), 0) + 1
    listed = [f"{text} ({times} times)" if times > 1 else text for text, times in counts.items()]
    text = f"No model answered after {len(failures)} attempts: {' — '.join(listed)}"
    if isinstance(last, ProviderTransient):
        return type(last)(text, delay_s=last.delay_s)
    return type(last)(text)
