"""Which processes are alive, and who wakes whom.

No wall clock takes part. Every connection of a process carries its token, so the server itself
sees that a killed process is gone, at once. One that is stopped or cut off keeps its connections
but renews no lease: `beats` stands still, and whoever watches that for the lease time, by a clock
that never steps, buries it. Being buried is for good: it writes nothing more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable

import psycopg

from hermes.core.errors import Fenced, StoreFailed
from hermes.core.ids import NodeId
from hermes.stores.postgres.connections import PAUSE_S, RETRY_S, Dialer, Lane, Row
from hermes.stores.postgres.index import Index
from hermes.stores.postgres.statements import QUERY

CHANNEL = "hermes"
EVERYBODY = "*"
BURIED_KEPT = 1_000


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


class Watch:
    """For how long we have seen each other node silent."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._seen: dict[NodeId, tuple[int, float]] = {}
        self._looked_at: float | None = None

    def look(self, now: float, others: Iterable[Row]) -> dict[NodeId, int]:
        """The nodes whose lease has run out, and the beat they stopped at.

        If we slept ourselves (a closed lid, a stopped process), they could not be heard: a long
        gap between two looks counts as half a lease and no more.
        """
        gap = 0.0 if self._looked_at is None else now - self._looked_at
        gap = min(gap, self._lease_s / 2)
        self._looked_at = now
        seen: dict[NodeId, tuple[int, float]] = {}
        for node, beats in others:
            before, silent_s = self._seen.get(node, (beats, -gap))
            seen[node] = (beats, silent_s + gap if before == beats else 0.0)
        self._seen = seen
        return {
            node: beats for node, (beats, silent_s) in seen.items() if silent_s >= self._lease_s
        }


class PostgresNodes:
    def __init__(
        self,
        dialer: Dialer,
        control: Lane,
        bell: Bell,
        index: Index,
        lease_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._dialer = dialer
        self._control = control
        self._bell = bell
        self._index = index
        self._clock = clock
        self._watch = Watch(lease_s)
        self._joined: set[NodeId] = set()
        self._listener: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def join(self, node: NodeId) -> None:
        row = {"node": node, "token": self._dialer.token, "at": self._clock()}
        if not await self._control.fetch(QUERY["join"], **row):
            raise Fenced(f"node {node} is taken or was taken for dead; choose another id")
        self._joined.add(node)
        await self._control.fetch(QUERY["forget_nodes"], kept=BURIED_KEPT)
        await self.bury_gone()
        self._listen()
        with contextlib.suppress(TimeoutError):  # deaf for now; it looks at every time-out anyway
            async with asyncio.timeout(RETRY_S):
                await self._listening.wait()

    async def beat(self, node: NodeId) -> bool:
        if not await self._control.fetch(QUERY["beat"], node=node):
            return False
        await self.bury_gone()
        others = await self._control.fetch(QUERY["others"], token=self._dialer.token)
        silent = self._watch.look(asyncio.get_running_loop().time(), others)
        if silent:
            names, beats = list(silent), list(silent.values())
            token = self._dialer.token
            await self._control.fetch(QUERY["bury_silent"], id=names, beats=beats, token=token)
        await self._index.read_some()
        return True

    async def leave(self, node: NodeId) -> None:
        """Its sessions may be claimed by anybody from here on."""
        await self._control.fetch(QUERY["leave"], node=node)
        self._joined.discard(node)

    async def wake(self, timeout_s: float) -> None:
        self._listen()
        await self._bell.wait(timeout_s)

    async def is_alive(self, node: NodeId) -> bool:
        return bool(await self._control.fetch(QUERY["alive"], node=node))

    async def bury_gone(self) -> None:
        await self._control.fetch(QUERY["bury_gone"], token=self._dialer.token)

    async def close(self) -> None:
        for node in tuple(self._joined):
            with contextlib.suppress(StoreFailed):  # others see by its connections that it is gone
                await self.leave(node)
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener

    def _listen(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._hear(), name="hermes-postgres-listener")

    async def _hear(self) -> None:
        """A lost connection is dialled again, and whoever waits looks for what it missed."""
        while True:
            with contextlib.suppress(psycopg.Error):
                connection = await self._dialer.dial()
                async with connection:
                    await connection.execute(f"listen {CHANNEL}".encode())
                    self._listening.set()
                    async for note in connection.notifies():
                        if note.payload == EVERYBODY or note.payload in self._joined:
                            self._bell.ring()
            await asyncio.sleep(PAUSE_S)
            self._bell.ring()
