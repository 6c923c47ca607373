"""Connections that reconnect. A lost one is dialled again where the query may be repeated."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from hermes.core.errors import StoreBusy, StoreClosed
from hermes.stores.postgres import arrays
from hermes.stores.postgres.failures import explained

Row = tuple[Any, ...]
Connection = AsyncConnection[Row]
T = TypeVar("T")

SCHEMA = "hermes"
CONNECT_TIMEOUT_S = 10
SHARDS = 1_024  # so many that two processes hardly ever share one
RETRY_S = 5.0  # a server that restarts is back within that
PAUSE_S = 0.2
CLOSE_S = 5.0
READERS_MAX = 3

_COMMON = (
    f"set search_path = {SCHEMA}; set synchronous_commit = on; set client_min_messages = warning; "
    "set idle_in_transaction_session_timeout = '60s'; set lock_timeout = '5s'; set timezone = 'UTC'"
)
_READ = "set statement_timeout = '30s'"
# A search is given up soon; its plan depends on its words, and always goes by an index.
_SEARCH = (
    "set statement_timeout = '1s'; set plan_cache_mode = force_custom_plan; "
    "set enable_seqscan = off; set jit = off"
)
# The planner knows nothing of an array's length or of a table that was empty when the statement
# was prepared. Every join of the group commit goes from the batch to an index, always.
_WRITE = (
    "set lock_timeout = '1s'; set plan_cache_mode = force_generic_plan; set enable_seqscan = off; "
    "set enable_hashjoin = off; set enable_mergejoin = off; set jit = off"
)


@dataclass(kw_only=True)
class Dialer:
    """Dial the server. All connections of this process carry its token, by which others see that it
    is alive. Once `closed` is set, nothing connects or queries any more."""

    url: str
    token: str
    closed: bool = False

    @property
    def shard(self) -> int:
        """Return the shard in which this process counts (see `tally`)."""
        return int(self.token, 16) % SHARDS

    async def dial(self, *settings: str) -> Connection:
        """Open a connection. Raise psycopg.Error or StoreClosed."""
        if self.closed:
            raise StoreClosed
        connection = await AsyncConnection.connect(
            self.url,
            autocommit=True,
            prepare_threshold=1,
            application_name=f"hermes-{self.token}",
            connect_timeout=CONNECT_TIMEOUT_S,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=15_000,
        )
        arrays.register(connection.adapters)
        # One type for whole numbers, whatever their size: one prepared form of each statement.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        async with contextlib.AsyncExitStack() as on_failure:
            on_failure.push_async_callback(connection.close)
            await connection.execute("; ".join((_COMMON, *settings)).encode())
            on_failure.pop_all()
        return connection

    def reading(self) -> "PooledConnection":
        return PooledConnection(self, (_READ,))

    def searching(self) -> "PooledConnection":
        return PooledConnection(self, (_SEARCH,))

    def writing(self) -> "PooledConnection":
        return PooledConnection(self, (_WRITE,))


@dataclass
class PooledConnection:
    """One connection, used by one caller at a time and dialled at its first use."""

    dialer: Dialer
    settings: tuple[str, ...] = ()
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    connection: Connection | None = None

    async def live(self) -> Connection:
        """Return the connection, redialled if it was lost. Raise psycopg.Error or StoreClosed."""
        if self.dialer.closed:
            raise StoreClosed
        if self.connection is None or self.connection.closed:
            self.connection = await self.dialer.dial(*self.settings)
        return self.connection

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run idempotent work (a read, or a repeatable write), and again if the connection was
        lost."""
        async with self.lock:
            deadline = asyncio.get_running_loop().time() + RETRY_S
            while True:
                try:
                    return await work(await self.live())
                except psycopg.Error as error:
                    if not self.lost(error) or asyncio.get_running_loop().time() > deadline:
                        raise explained(error) from error
                await asyncio.sleep(PAUSE_S)

    async def fetch(self, query: bytes, /, **values: object) -> list[Row]:
        async def ask(connection: Connection) -> list[Row]:
            cursor = await connection.execute(query, values, binary=True)
            return await cursor.fetchall() if cursor.description is not None else []

        return await self.run(ask)

    def lost(self, error: psycopg.Error) -> bool:
        """Return True if the connection was cut rather than the query wrong. A doubtful connection
        is closed."""
        if error.sqlstate is None and self.connection is not None:
            self.connection.pgconn.finish()
        alive = self.connection is not None and not self.connection.closed
        return not alive and isinstance(explained(error), StoreBusy)

    async def close(self) -> None:
        """Close after the running work, within a limit; waiting callers are refused."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.lock.acquire()
        if self.connection is not None:
            await self.connection.close()
        if self.lock.locked():
            self.lock.release()


class Readers:
    """A few connections for reads, beside the writer's."""

    def __init__(self, dialer: Dialer) -> None:
        self._idle = asyncio.LifoQueue[PooledConnection]()
        self._lanes = [dialer.reading() for _ in range(READERS_MAX)]
        for lane in self._lanes:
            self._idle.put_nowait(lane)

    async def fetch(self, query: bytes, /, **values: object) -> list[Row]:
        lane = await self._idle.get()
        try:
            return await lane.fetch(query, **values)
        finally:
            self._idle.put_nowait(lane)

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.close()


@contextlib.asynccontextmanager
async def apart(dialer: Dialer) -> AsyncIterator[Connection]:
    """Yield a separate connection without a time limit, for long work."""
    try:
        connection = await dialer.dial()
        try:
            yield connection
        finally:
            await connection.close()
    except psycopg.Error as error:
        raise explained(error) from error
