"""Listen for other processes: a session has news, a session is free, a reply waits.

A lost connection is dialled again, and waiting callers then look for what they missed.
"""

import asyncio
import contextlib

import psycopg

from hermes.core.errors import StoreClosed
from hermes.core.ids import NodeId
from hermes.stores.postgres.connections import PAUSE_S, RETRY_S, Dialer
from hermes.stores.postgres.reach import PlatformReach

CHANNEL = "hermes"
EVERYBODY = "*"
OUTGOING = ">"  # and a platform: something waits to be sent there
ANSWERED = "!"  # a chat may wait for this
GAP_S = 0.05  # notifications within this time cause one wake-up


class PostgresWakeUp:
    """A wake-up that is set when there may be news for this process. It stays set until a caller
    has waited for it."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        self._rung.clear()


class NotificationListener:
    """Listen for notifications. `nodes` are those of this process, with their seats."""

    def __init__(self, dialer: Dialer, bell: PostgresWakeUp, reach: PlatformReach) -> None:
        self.nodes: dict[NodeId, str] = {}
        self._dialer = dialer
        self._bell = bell
        self._reach = reach
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()
        self._rung_at = float("-inf")
        self._later: asyncio.TimerHandle | None = None
        self._closed = False

    async def start(self) -> None:
        self._run()
        with contextlib.suppress(TimeoutError):  # deaf for now; it looks at every time-out anyway
            async with asyncio.timeout(RETRY_S):
                await self._listening.wait()

    async def wait(self, timeout_s: float) -> None:
        if self._closed:
            raise StoreClosed
        self._run()
        await self._bell.wait(timeout_s)

    async def close(self) -> None:
        self._closed = True
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
        """Wake the waiting callers: at once after a quiet time, else after a short gap."""
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
