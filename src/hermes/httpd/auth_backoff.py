"""Lock out clients that fail to authenticate too often (exponential back-off)."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec import Struct

FAILURES_MAX: Final = 10
WINDOW_S: Final = 60.0
WAIT_S_MAX: Final = 3_600.0
VISITORS_MAX: Final = 4_096  # the least recently seen one is forgotten first


class FailedAttempts(Struct):
    since: float
    failures: int = 0
    waits: int = 0  # lock-outs so far
    until: float = 0.0


class AuthBackoff:
    """Count failures by client. Ten in a minute lock it out for a minute; each further lock-out
    lasts twice as long, up to an hour."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._marks: OrderedDict[str, FailedAttempts] = OrderedDict()

    def wait_s(self, visitor: str) -> float:
        mark = self._marks.get(visitor)
        return 0.0 if mark is None else max(0.0, mark.until - self._clock())

    def failed(self, visitor: str) -> bool:
        """Count a failure. Return True if it starts a lock-out."""
        now = self._clock()
        mark = self._marks.pop(visitor, None) or FailedAttempts(now)
        if now - max(mark.since, mark.until) > WAIT_S_MAX:
            mark = FailedAttempts(now)
        elif now - mark.since > WINDOW_S:
            mark.since, mark.failures = now, 0
        mark.failures += 1
        begins = mark.failures >= FAILURES_MAX and mark.until <= now
        if begins:
            mark.until = now + min(WAIT_S_MAX, WINDOW_S * 2**mark.waits)
            mark.waits, mark.failures, mark.since = mark.waits + 1, 0, mark.until
        self._marks[visitor] = mark
        if len(self._marks) > VISITORS_MAX:
            self._marks.popitem(last=False)
        return begins
