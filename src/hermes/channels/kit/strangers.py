"""Answer strangers: redeem an invite, else reply at most once a day, and only to so many people."""

from collections import deque
from collections.abc import Awaitable, Callable

from hermes.channels.kit.memory import ChannelMemory
from hermes.core.channel import ChannelHost
from hermes.core.messages import Inbound
from hermes.core.people import sender_of

DAY_S = 24 * 3600.0
STRANGERS_A_DAY_MAX = 100  # who are answered, in all

STRANGER = (
    "I don't know you yet, so I can't answer. Your id is {}. My owner can use it to let you in."
)

Tell = Callable[[Inbound, str], Awaitable[None]]


class Strangers:
    """Strangers cost no model call and no download."""

    def __init__(self, host: ChannelHost, memory: ChannelMemory) -> None:
        self._host, self._memory = host, memory
        self._answered: deque[float] = deque()

    async def turn_away(self, inbound: Inbound, tell: Tell) -> None:
        now, name = self._host.clock(), inbound.sender.name
        if said := await self._host.admit_stranger(sender_of(inbound), name, inbound.text):
            await tell(inbound, said)
            return
        while self._answered and self._answered[0] <= now - DAY_S:
            self._answered.popleft()
        last = await self._memory.get("strangers", inbound.sender.id)
        if len(self._answered) >= STRANGERS_A_DAY_MAX or _is_recent(last, now):
            return
        self._answered.append(now)
        if await self._memory.put("strangers", inbound.sender.id, str(now)):
            await tell(inbound, STRANGER.format(inbound.sender.id))


def _is_recent(noted: str, now: float) -> bool:
    try:
        return now - DAY_S < float(noted) <= now + DAY_S
    except ValueError:
        return False
