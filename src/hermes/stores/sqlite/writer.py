"""The one thread that writes. It takes everything that waits, commits once, then wakes them all.

A caller is answered only after the flush that made its work durable. One piece of work that is
refused does not spoil the others of its batch.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import apsw

from hermes.core.errors import HermesError, StoreFailed
from hermes.stores.sqlite.failures import explained, is_final

T = TypeVar("T")

BATCH_MAX = 512
QUEUE_MAX = 20_000


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[apsw.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


@dataclass(frozen=True, slots=True)
class _Done:
    job: _Job
    result: Any = None
    error: HermesError | None = None

    def tell(self) -> None:
        if self.job.future.done():
            return  # the caller was cancelled; what it asked for is written all the same
        if self.error is not None:
            self.job.future.set_exception(self.error)
        else:
            self.job.future.set_result(self.result)


class Writer:
    """Owns the write connection. `write` runs a function inside the next commit."""

    def __init__(self, db: apsw.Connection, path: str, final: StoreFailed | None = None) -> None:
        self._db = db
        self._path = path
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._final = final
        self._thread = threading.Thread(target=self._run, name="hermes-writer", daemon=True)
        self._thread.start()

    async def write(self, work: Callable[[apsw.Connection], T]) -> T:
        """Raises what `work` raises, or a StoreFailed when the commit did not happen."""
        if self._final is not None:
            raise self._final
        if self._jobs.qsize() >= QUEUE_MAX:
            raise StoreFailed(f"{self._path}: {QUEUE_MAX} writes are waiting; the disk is too slow")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, loop, future))
        return await future

    async def close(self) -> None:
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        open_ = True
        while open_:
            batch = self._take()
            open_ = None not in batch
            jobs = [job for job in batch if job is not None]
            if jobs:
                _tell(self._commit(jobs))
        close_quietly(self._db)

    def _take(self) -> list[_Job | None]:
        batch = [self._jobs.get()]
        while len(batch) < BATCH_MAX:
            try:
                batch.append(self._jobs.get_nowait())
            except queue.Empty:
                break
        return batch

    def _commit(self, jobs: list[_Job]) -> list[_Done]:
        if self._final is not None:
            return [_Done(job, error=self._final) for job in jobs]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            done = [self._perform(job) for job in jobs]
            self._db.execute("COMMIT")
        except apsw.Error as error:
            failure = self._undone(error)
            return [_Done(job, error=failure) for job in jobs]
        return done

    def _perform(self, job: _Job) -> _Done:
        self._db.execute("SAVEPOINT job")
        try:
            done = _Done(job, result=job.work(self._db))
        except HermesError as refused:
            self._db.execute("ROLLBACK TO job")
            done = _Done(job, error=refused)
        self._db.execute("RELEASE job")
        return done

    def _undone(self, error: apsw.Error) -> StoreFailed:
        failure = explained(error, self._path)
        if is_final(error):
            self._final = failure
        if self._db.in_transaction:
            try:
                self._db.execute("ROLLBACK")
            except apsw.Error as worse:
                self._final = explained(worse, self._path)
        return failure


def _tell(done: list[_Done]) -> None:
    """One wake-up per event loop for the whole batch."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Done]] = {}
    for each in done:
        by_loop.setdefault(each.job.loop, []).append(each)
    for loop, group in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_tell_all, group)


def _tell_all(group: list[_Done]) -> None:
    for each in group:
        each.tell()


def close_quietly(db: apsw.Connection) -> None:
    """Closing folds the log into the file if it can. If it cannot, the log is read next time."""
    try:
        db.close()
    except apsw.Error:
        with suppress(apsw.Error):
            db.close(force=True)
