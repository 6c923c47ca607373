"""Know which chats follow which session, and which replies wait to be shown."""

import asyncio
import logging
from typing import Protocol

from msgspec import Struct

from hermes.channels.local.wire import Delivered
from hermes.core.channel import ChannelHost
from hermes.core.errors import ChannelBusy
from hermes.core.ids import SessionKey
from hermes.core.messages import Reply

SHOWN_S = 10.0  # from pushing a reply to the word that a person can see it
NOBODY = "no terminal shows this session"

log = logging.getLogger("hermes.channels.local")


class Onlooker(Protocol):
    """One chat that follows one session."""

    @property
    def key(self) -> SessionKey: ...

    def offer(self, said: Delivered) -> None:
        """Show this reply when the chat has read that far."""


class _Offer(Struct, frozen=True):
    said: Delivered
    seen: "asyncio.Future[bool]"


class LocalConnections:
    def __init__(self) -> None:
        self._onlookers: dict[SessionKey, list[Onlooker]] = {}
        self._locks: dict[SessionKey, asyncio.Lock] = {}
        self._deliveries: set[asyncio.Task[None]] = set()
        self._offers: dict[str, _Offer] = {}

    def join(self, onlooker: Onlooker) -> None:
        """Add a chat, and show it what waits."""
        self._onlookers.setdefault(onlooker.key, []).append(onlooker)
        for offer in self._offers.values():
            if offer.said.reply.session == onlooker.key:
                onlooker.offer(offer.said)

    def leave(self, onlooker: Onlooker) -> None:
        key = onlooker.key
        self._onlookers[key].remove(onlooker)
        if self._onlookers[key]:
            return
        del self._onlookers[key]
        for offer in self._offers.values():
            if offer.said.reply.session == key and not offer.seen.done():
                offer.seen.set_result(False)

    def deliver(self, key: SessionKey, host: ChannelHost) -> "asyncio.Task[None]":
        """Offer all due replies. The task ends when they were shown, or when no chat is left; it
        must not be cancelled, or a reply would belong to no process."""
        task = asyncio.create_task(self._deliver(key, host))
        self._deliveries.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Let deliveries under way end after all chats have left."""
        if self._deliveries:
            await asyncio.wait(self._deliveries, timeout=SHOWN_S)

    async def _deliver(self, key: SessionKey, host: ChannelHost) -> None:
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            await host.deliver(key)
        if key not in self._onlookers and not lock.locked():
            self._locks.pop(key, None)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._deliveries.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("replies wait for the next chat: %s", error)

    async def show(self, reply: Reply, chunk: str, key: str) -> None:
        """Wait until one of the chats has shown the reply. Raise ChannelBusy if none did; the next
        one will."""
        onlookers = self._onlookers.get(reply.session)
        if not onlookers:
            raise ChannelBusy(NOBODY, delay_s=0)
        offer = _Offer(Delivered(key, reply, chunk), asyncio.get_running_loop().create_future())
        self._offers[key] = offer
        for onlooker in onlookers:
            onlooker.offer(offer.said)
        try:
            async with asyncio.timeout(SHOWN_S):
                seen = await offer.seen
        except TimeoutError as late:
            raise ChannelBusy(f"no chat showed it within {SHOWN_S:.0f} s", delay_s=0) from late
        finally:
            del self._offers[key]
        if not seen:
            raise ChannelBusy(NOBODY, delay_s=0)

    def seen(self, key: str) -> None:
        offer = self._offers.get(key)
        if offer is not None and not offer.seen.done():
            offer.seen.set_result(True)
