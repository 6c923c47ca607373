"""Which platforms this process serves, inferred from its requests for due replies.

A reply that the writing process sends itself needs no notification; a reply for a platform that it
does not serve is announced to the processes that do.
"""

import asyncio
from collections.abc import Collection, Sequence

from hermes.core.messages import sound

ASKED_S = 15.0  # a platform not asked about for this long is no longer served
PLATFORMS_MAX = 200
NAME_CHARS_MAX = 200


class PlatformReach:
    def __init__(self) -> None:
        self._asked: dict[str, float] = {}
        self._served: dict[str, float] = {}  # asked for as a whole, not for one session

    def ask(self, platforms: Sequence[str], *, whole: bool) -> None:
        now = asyncio.get_running_loop().time()
        for times in (self._asked, self._served) if whole else (self._asked,):
            times.update(dict.fromkeys(platforms[:PLATFORMS_MAX], now))
            while len(times) > PLATFORMS_MAX:
                del times[min(times, key=times.__getitem__)]

    def hears(self, name: str) -> bool:
        return any(named(platform) == name for platform in self._lately(self._asked))

    def beyond(self, platforms: Collection[str]) -> Sequence[str]:
        """Return the names of the platforms that other processes must serve."""
        served = self._lately(self._served) if platforms else ()
        return sorted({named(platform) for platform in platforms if platform not in served})

    def _lately(self, times: dict[str, float]) -> Collection[str]:
        since = asyncio.get_running_loop().time() - ASKED_S
        return [platform for platform, at in times.items() if at >= since]


def named(platform: str) -> str:
    """Return the platform's name as a notification can carry it."""
    return sound(platform[:NAME_CHARS_MAX])
