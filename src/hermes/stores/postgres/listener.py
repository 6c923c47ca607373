"""Hears what other processes tell: a session of ours has news, anybody may take one, a reply waits.

A lost connection is dialled again, and whoever waits looks for what it missed.
"""

import asyncio
import contextlib

import psycopg

from hermes.core.ids import NodeId
from hermes.stores.postgres.connections import PAUSE_S, RETRY_S, Dialer
from hermes.stores.postgres.reach import Reach

CHANNEL = "hermes"
EVERYBODY = "*"
OUTGOING = ">"  # and a platform: something waits to be sent there
ANSWERED = "!"  # a chat may wait for this
GAP_S = 0.05  # whoever is told more often than that looks once


class Bell:
    """Rung when something may be there for us. It stays rung until somebody has waited for it."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        self._rung.clear()


class Listener:
    """`nodes` are those of this process, with their seats."""

    def __init__(self, dialer: Dialer, bell: Bell, reach: Reach) -> None:
        self.nodes: dict[NodeId, str] = {}
        self._dialer = dialer
        self._bell = bell
        self._reach = reach
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()
        self._rung_at = float("-inf")
        self._later: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        self._run()
        with contextlib.suppress(TimeoutError):  # deaf for now; it looks at every time-out anyway
            async with asyncio.timeout(RETRY_S):
                await self._listening.wait()

    async def wait(self, timeout_s: float) -> None:
        self._run()
        await self._bell.wait(timeout_s)

    async def close(self) -> None:
        if self._later is not None:
            self._later.cancel()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _run(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._hear(), name="hermes-postgres-listener")

    async def _hear(self) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                connection = await self._dialer.dial()
                async with connection:
                    await connection.execute(f"listen {CHANNEL}".encode())
                    self._listening.set()
                    async for note in connection.notifies():
                        if self._concerns_us(note.payload):
                            self._ring_soon()
            await asyncio.sleep(PAUSE_S)
            self._bell.ring()

    def _ring_soon(self) -> None:
        """At once, if it is the first word for a while."""
        loop = asyncio.get_running_loop()
        if self._later is None:
            self._later = loop.call_at(max(self._rung_at + GAP_S, loop.time()), self._ring)

    def _ring(self) -> None:
        self._rung_at, self._later = asyncio.get_running_loop().time(), None
        self._bell.ring()

    def _concerns_us(self, payload: str) -> bool:
        if payload.startswith(OUTGOING):
            return self._reach.hears(payload.removeprefix(OUTGOING))
        if payload == ANSWERED:
            return not any(self.nodes.values())
        return payload == EVERYBODY or payload in self.nodes
