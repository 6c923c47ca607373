"""A bounded queue of events for hooks; it keeps each hook's order within a session."""

import asyncio
import logging
from collections import deque

from msgspec import Struct

from hermes.core.ids import SessionKey
from hermes.hooks.declared import Hook
from hermes.hooks.occasions import Occasion

ERRANDS_MAX = 1_000

log = logging.getLogger("hermes.hooks")


class PendingHook(Struct, frozen=True):
    hook: Hook
    occasion: Occasion

    @property
    def lane(self) -> tuple[str, SessionKey]:
        return self.hook.name, self.occasion.session


class Backlog:
    """Queue events without back-pressure: when full, it drops the oldest. It logs that once until
    it has been empty again."""

    def __init__(self, errands_max: int = ERRANDS_MAX) -> None:
        self._errands_max = errands_max
        self._waiting: deque[PendingHook] = deque()
        self._busy: set[tuple[str, SessionKey]] = set()
        self._bell = asyncio.Event()
        self._overflows = False

    def put(self, errand: PendingHook) -> None:
        if len(self._waiting) >= self._errands_max:
            dropped = self._waiting.popleft()
            if not self._overflows:
                what = f"{dropped.hook.name} misses {dropped.occasion.event}"
                log.warning("hooks are too slow, so the oldest events are dropped: %s", what)
            self._overflows = True
        self._waiting.append(errand)
        self._bell.set()

    async def take(self) -> PendingHook:
        """Wait for and return the oldest event whose hook is not running in the same session."""
        while (errand := self._ready()) is None:
            self._bell.clear()
            await self._bell.wait()
        self._busy.add(errand.lane)
        return errand

    def done(self, errand: PendingHook) -> None:
        self._busy.discard(errand.lane)
        self._bell.set()

    def _ready(self) -> PendingHook | None:
        for n, errand in enumerate(self._waiting):
            if errand.lane not in self._busy:
                del self._waiting[n]
                self._overflows = self._overflows and bool(self._waiting)
                return errand
        return None
