"""Show a small sign on a message that is stored and not answered yet, never before the commit. I/O.

It uses what the chat's send rate leaves free. Which messages have a sign is kept in a file, so that
the next process removes the signs of a killed one.
"""

import asyncio
import contextlib
from collections.abc import Coroutine

import msgspec
from msgspec import Struct

from hermes.channels.kit.memory import ChannelMemory
from hermes.core.channel import ChannelHost, Manifest, Screen
from hermes.core.errors import ChannelRefused, HermesError
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound, Reply
from hermes.core.session import ref

STORED = "👀"
SIGHT_S = 1.0  # what is answered sooner needs no sign
TRIES, AGAIN_S = 30, 1.0  # while the chat is busy
SIGNS_MAX = 200
KIND, NAME = "receipts", "shown"


class Sign(Struct, frozen=True):
    session: SessionKey
    message: str  # as the journal names it
    address: Address
    id: MessageId


class Receipts:
    """The signs of one channel: none where the platform has no reactions or the owner wants none
    (`Manifest.reactions`, `Manifest.receipts`)."""

    def __init__(self, screen: Screen, memory: ChannelMemory, manifest: Manifest) -> None:
        self._screen, self._memory = screen, memory
        self._on = manifest.reactions and manifest.receipts
        self._open: dict[tuple[SessionKey, str], Sign] = {}  # stored, without a sign yet
        self._shown: list[Sign] | None = None
        self._guard = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def stored(self, host: ChannelHost, inbound: Inbound) -> None:
        if self._on:
            sign = Sign(inbound.session, ref(inbound), inbound.address, inbound.id)
            self._open[sign.session, sign.message] = sign
            self._beside(self._show(host, sign))

    def answered(self, host: ChannelHost | None, reply: Reply) -> None:
        """Remove the signs of the messages that this reply answers."""
        if self._on and host is not None:
            self._beside(self._take_away(host, reply.session))

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _show(self, host: ChannelHost, sign: Sign) -> None:
        await asyncio.sleep(SIGHT_S)
        for _ in range(TRIES):
            async with self._guard:
                if self._open.pop((sign.session, sign.message), None) is None:
                    return
                shown = [*await self._loaded(), sign][-SIGNS_MAX:]
                await self._keep(shown)  # before it is there, so that no sign is forgotten
                if await self._react(host, sign, STORED):
                    return
                await self._keep([each for each in shown if each is not sign])
                self._open[sign.session, sign.message] = sign
            await asyncio.sleep(AGAIN_S)
        self._open.pop((sign.session, sign.message), None)

    async def _take_away(self, host: ChannelHost, key: SessionKey) -> None:
        try:
            waiting = {ref(each) for each in (await host.store.journal.load(key)).waiting}
        except HermesError:
            return
        for each in [each for each in self._open if each[0] == key and each[1] not in waiting]:
            del self._open[each]
        for _ in range(TRIES):
            async with self._guard:
                shown = await self._loaded()
                due = [
                    each for each in shown if each.session == key and each.message not in waiting
                ]
                gone = [each for each in due if await self._react(host, each, "")]
                if gone:
                    await self._keep([each for each in shown if each not in gone])
            if len(gone) == len(due):
                return
            await asyncio.sleep(AGAIN_S)

    async def _react(self, host: ChannelHost, sign: Sign, shown: str) -> bool:
        """Set or remove a sign. Return True also when the platform refuses, because it would refuse
        again."""

        async def act() -> None:
            with contextlib.suppress(ChannelRefused):
                await self._screen.react(sign.address, sign.id, shown)

        return await host.spare(sign.address, act)

    async def _loaded(self) -> list[Sign]:
        if self._shown is None:
            kept = await self._memory.get(KIND, NAME)
            try:
                self._shown = msgspec.json.decode(kept or "[]", type=list[Sign])
            except msgspec.MsgspecError:
                self._shown = []
        return self._shown

    async def _keep(self, shown: list[Sign]) -> None:
        self._shown = shown
        await self._memory.put(KIND, NAME, msgspec.json.encode(shown).decode())

    def _beside(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
