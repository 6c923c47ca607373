"""Group commit: everything that waits goes to the server in one round trip and one flush.

While one batch is on its way the next one gathers. A batch is sent again when it collided with
another process, or when its connection was lost. In that case it is unknown whether the batch was
committed, so each operation is idempotent, or detects that it was done before (see `append`).
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

import psycopg
from psycopg import AsyncRawCursor
from psycopg.pq import TransactionStatus

from hermes.core.errors import StoreBusy, StoreClosed, StoreFailed
from hermes.stores.postgres import operations as ops
from hermes.stores.postgres.chain import PostgresChain
from hermes.stores.postgres.connections import PAUSE_S, RETRY_S, Connection, Dialer
from hermes.stores.postgres.exchange import (
    AnyOperation,
    Rows,
    Sorted,
    answer,
    answer_refused,
    fail,
    plan,
)
from hermes.stores.postgres.failures import Collided, explained
from hermes.stores.postgres.operations import Append, Arrays
from hermes.stores.postgres.reach import PlatformReach
from hermes.stores.postgres.statements import fitting

BATCH_MAX = 256
BATCH_BYTES_MAX = 8_000_000
QUEUE_MAX = 20_000
COLLISIONS_MAX = 10


class PostgresWriter:
    """Owns the write connection. A caller puts an operation in and awaits its `done`."""

    def __init__(
        self,
        dialer: Dialer,
        clock: Callable[[], float],
        ring: Callable[[], None],
        reach: PlatformReach,
        chain: PostgresChain,
    ) -> None:
        self._dialer = dialer
        self._chain = chain
        self._lane = dialer.writing()
        self._reach = reach
        self._clock = clock
        self._ring = ring
        self._waiting: deque[AnyOperation] = deque()
        self._sent: Sequence[AnyOperation] = ()
        self._more = asyncio.Event()
        self._closing = False
        self._task = asyncio.create_task(self._run(), name="hermes-postgres-writer")
        self._task.add_done_callback(self._ended)

    def put(self, operation: AnyOperation) -> None:
        if self._closing or self._task.done():
            raise StoreClosed
        if len(self._waiting) >= QUEUE_MAX:
            raise StoreBusy(f"{QUEUE_MAX} writes are waiting; PostgreSQL is too slow")
        self._waiting.append(operation)
        self._more.set()

    async def close(self) -> None:
        """Write all operations that were put in before, then stop."""
        self._closing = True
        self._more.set()
        await self._task
        await self._lane.close()

    async def _run(self) -> None:
        while self._waiting or not self._closing:
            await self._more.wait()
            await asyncio.sleep(0)  # let those come in who ask at the same moment
            self._more.clear()
            while self._waiting:
                self._sent = self._next_batch()
                await self._commit(self._sent)
            self._sent = ()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Fail all waiting operations if the task died of an unforeseen error, so that no caller
        waits for ever."""
        for operation in (*self._sent, *self._waiting):
            fail(operation.done, StoreFailed(f"the writer stopped: {task}"))

    def _next_batch(self) -> Sequence[AnyOperation]:
        """Return the next batch: bounded, with at most one operation per lane."""
        batch: list[AnyOperation] = []
        later: list[AnyOperation] = []
        lanes: set[str] = set()
        size = 0
        while self._waiting and len(batch) < BATCH_MAX and size < BATCH_BYTES_MAX:
            operation = self._waiting.popleft()
            if operation.done.done():
                continue  # its caller was cancelled before it was sent
            if operation.lane and operation.lane in lanes:
                later.append(operation)
                continue
            lanes.add(operation.lane)
            size += operation.size
            batch.append(operation)
        self._waiting.extendleft(reversed(later))
        return batch

    async def _commit(self, batch: Sequence[AnyOperation]) -> None:
        """Send until the result is known, or the time for retries is over."""
        deadline = asyncio.get_running_loop().time() + RETRY_S
        collisions = 0
        while batch:
            try:
                await self._send(batch)
            except psycopg.Error as error:
                collisions += isinstance(error, Collided)
                lost = self._lane.lost(error)
                if lost:
                    self._chain.begin_again()  # the end of the old one is unknown
                late = asyncio.get_running_loop().time() > deadline
                for operation in batch:
                    operation.again = operation.again or lost
                if late or not (lost or 0 < collisions < COLLISIONS_MAX):
                    await self._give_up(batch, explained(error), lost=lost)
                    return
                await asyncio.sleep(PAUSE_S if lost else 0)
            else:
                return

    async def _give_up(
        self, batch: Sequence[AnyOperation], failure: StoreFailed, *, lost: bool
    ) -> None:
        """Fail the batch. A larger batch is first split, so that one wrong or locked operation
        fails alone."""
        if len(batch) > 1 and not lost:
            for operation in batch:
                await self._commit([operation])
            return
        for operation in batch:
            fail(operation.done, failure)

    async def _send(self, batch: Sequence[AnyOperation]) -> None:
        kinds = Sorted(batch)
        beyond = self._reach.beyond(kinds.platforms())
        log = self._chain.sealed([op.commit.audit for op in kinds.appends])
        now = self._clock()
        steps = plan(kinds, now=now, dialer=self._dialer, beyond=beyond, log=log.arrays())
        refused = answer(kinds, await self._transact(steps))
        if log.rows and not refused:
            self._chain.grown(log)
        if kinds.accepts:
            self._ring()
        if refused:
            await self._explain(refused)
        # A message whose lane was deleted at this very moment has found no place: it comes again.
        homeless = [operation for operation in kinds.accepts if not operation.done.done()]
        self._waiting.extendleft(reversed(homeless))

    async def _explain(self, refused: Sequence[Append]) -> None:
        """Find out why appends were refused. This is a query of its own: the batch is committed and
        must not be sent again."""
        arrays = ops.refused(refused)
        statement = fitting("fences", arrays)

        async def ask(connection: Connection) -> Rows:
            cursor = AsyncRawCursor(connection)
            await cursor.execute(statement.text, statement.values(arrays), binary=True)
            return await cursor.fetchall()

        try:
            answer_refused(refused, await self._lane.run(ask))
        except StoreFailed as failure:
            for operation in refused:
                fail(operation.done, failure)

    async def _transact(self, steps: Sequence[tuple[str, Arrays]]) -> dict[str, Rows]:
        """Run all statements in one round trip and one transaction. Return their rows by name."""
        connection = await self._lane.live()
        if connection.info.transaction_status is not TransactionStatus.IDLE:
            await connection.rollback()
        cursors = {name: AsyncRawCursor(connection) for name, _ in steps}
        async with connection.pipeline():
            if len(steps) > 1:
                await connection.execute("begin")
            for name, arrays in steps:
                statement = fitting(name, arrays)
                await cursors[name].execute(statement.text, statement.values(arrays), binary=True)
            if len(steps) > 1:
                await connection.execute("commit")
        rows: defaultdict[str, Rows] = defaultdict(list)
        for name, cursor in cursors.items():
            rows[name] = await cursor.fetchall() if cursor.description is not None else []
        return rows
