"""A timer for one deadline at a time."""

import asyncio
from collections.abc import Callable


class Alarm:
    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._timer is not None

    def set(self, seconds: float) -> None:
        self.clear()
        self._timer = self._loop.call_later(seconds, self._rung)

    def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        """Cancel the deadline for good and release the callback."""
        self.clear()
        self._ring = _nobody

    def _rung(self) -> None:
        self._timer = None
        self._ring()


def _nobody() -> None:
    """Do nothing: the callback after `end`."""
