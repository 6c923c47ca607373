"""Rate-limit everything that is done in one chat: messages, edits, typing (C53).

A message waits for its turn and goes before decoration; an edit or a typing sign is left out when
the chat is busy. A pause that a platform asked for also holds after a restart.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct, field

from hermes.core.errors import ChannelBusy, ChannelFailed
from hermes.core.messages import Address
from hermes.core.outbox import Outbox

CHATS_MAX = 10_000
WAIT_S_MAX = 5.0  # a message does not wait in memory for longer than that

Chat = tuple[str, str]


class _Budget(Struct):
    free_at: float = 0.0  # on the loop's clock
    waiting: int = 0  # messages that want to go out
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # something is on its way

    async def free(self) -> None:
        """Wait a little; raises ChannelBusy when that is not enough."""
        wait_s = self.free_at - _loop_time()
        if wait_s > WAIT_S_MAX:
            raise ChannelBusy("the platform asked for a pause", delay_s=wait_s)
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    @property
    def spare(self) -> bool:
        return not self.waiting and not self.lock.locked() and self.free_at <= _loop_time()


class SendRate(Struct, kw_only=True):
    outbox: Outbox
    clock: Callable[[], float]
    pauses_s: Mapping[str, float]  # platform: the least time between two acts in a chat
    _budgets: dict[Chat, _Budget] = field(default_factory=dict)

    async def begin(self) -> None:
        """Take over the pauses that an earlier process was told to make."""
        now = self.clock()
        for (platform, chat), until in (await self.outbox.waits(now=now)).items():
            budget = self._budget(Address(platform=platform, chat=chat))
            budget.free_at = _loop_time() + until - now

    @asynccontextmanager
    async def message(self, address: Address) -> AsyncIterator[None]:
        """Wait until a message may be sent, and hold the chat meanwhile. Raise ChannelBusy when
        that takes long."""
        budget = self._budget(address)
        budget.waiting += 1
        try:
            await budget.lock.acquire()
        finally:
            budget.waiting -= 1
        try:
            await budget.free()
            yield
        except ChannelBusy as busy:
            await self._pause(budget, address, busy.delay_s)
            raise
        finally:
            self._spent(budget, address)
            budget.lock.release()

    async def spare(self, address: Address, act: Callable[[], Awaitable[None]]) -> bool:
        """Do something optional if the chat is free. A failure has no consequence."""
        budget = self._budget(address)
        if not budget.spare:
            return False
        async with budget.lock:
            try:
                await act()
            except ChannelBusy as busy:
                await self._pause(budget, address, busy.delay_s)
                return False
            except ChannelFailed:
                return False
            finally:
                self._spent(budget, address)
        return True

    async def _pause(self, budget: _Budget, address: Address, delay_s: float) -> None:
        budget.free_at = _loop_time() + delay_s
        await self.outbox.pause(address.platform, address.chat, until=self.clock() + delay_s)

    def _spent(self, budget: _Budget, address: Address) -> None:
        pause_s = self.pauses_s.get(address.platform, 0.0)
        budget.free_at = max(budget.free_at, _loop_time() + pause_s)

    def _budget(self, address: Address) -> _Budget:
        if len(self._budgets) >= CHATS_MAX:
            for idle in [chat for chat, budget in self._budgets.items() if budget.spare]:
                del self._budgets[idle]
        return self._budgets.setdefault((address.platform, address.chat), _Budget())


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
