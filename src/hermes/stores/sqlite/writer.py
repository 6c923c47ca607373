"""The write thread: it takes everything that waits, commits once, then answers all callers.

A caller gets its result only after the flush that made its work durable. A job that is refused does
not fail the others of its batch.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import apsw
from msgspec import Struct

from hermes.core.errors import HermesError, StoreBusy, StoreClosed, StoreFailed
from hermes.stores.sqlite.failures import explained, is_final

T = TypeVar("T")

BATCH_MAX = 512
WAITING_MAX = 20_000


class _Job(Struct, frozen=True):
    work: Callable[[apsw.Cursor], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class _Done(Struct, frozen=True):
    job: _Job
    result: Any = None
    error: Exception | None = None

    def tell(self) -> None:
        if self.job.future.done():
            return  # the caller was cancelled; what it asked for is written all the same
        if self.error is not None:
            self.job.future.set_exception(self.error)
        else:
            self.job.future.set_result(self.result)


class _Spoilt(Exception):
    """A job failed with an unforeseen error; its writes must be rolled back."""

    def __init__(self, job: _Job, error: Exception) -> None:
        super().__init__(str(error))
        self.job = job
        self.error = error


class SqliteWriter:
    """Owns the write connection. `write` runs a function inside the next commit."""

    def __init__(self, db: apsw.Connection, path: str, final: StoreFailed | None = None) -> None:
        self._db = db
        self._cursor = db.cursor()  # one for all: making one costs more than a small statement
        self._path = path
        self._batches: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._closed = False  # for callers
        self._closing = False  # for the thread: there will be no more
        self._gathered: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._final = final
        self._thread = threading.Thread(target=self._run, name="hermes-writer", daemon=True)
        self._thread.start()

    async def write(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run `work` in the next commit. Raise what `work` raises, or a StoreFailed when the commit
        failed.

        A job must refuse before it writes anything, or bring a savepoint of its own
        (`whole_or_nothing`).
        """
        if self._closed:
            raise StoreClosed
        if self._final is not None:
            raise self._final
        if self._waiting >= WAITING_MAX:
            raise StoreBusy(f"{self._path}: {WAITING_MAX} writes are waiting; the disk is too slow")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        gathered = self._gathered.setdefault(loop, [])
        gathered.append(_Job(work, loop, future))
        if len(gathered) == 1:
            loop.call_soon(self._hand_over, loop)
        self._waiting += 1
        try:
            return await future
        finally:
            self._waiting -= 1

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand over the jobs once per turn of the event loop, so that they share the next flush."""
        self._batches.put(self._gathered.pop(loop))

    async def close(self) -> None:
        """Write all jobs that were asked for before, and refuse new ones."""
        self._closed = True
        await asyncio.sleep(0)
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (first := self._batches.get()) is not None:
            _tell(self._commit(first))
            if self._closing:
                break
        close_quietly(self._db)

    def _commit(self, jobs: list[_Job]) -> list[_Done]:
        """Commit these jobs, and all that are handed over meanwhile, in one transaction."""
        if self._final is not None:
            return [_Done(job, error=self._final) for job in jobs]
        jobs = list(jobs)
        done: list[_Done] = []
        try:
            self._db.execute("BEGIN IMMEDIATE")
            while len(done) < len(jobs):
                done += [self._perform(job) for job in jobs[len(done) :]]
                jobs += self._more(len(jobs))
            self._db.execute("COMMIT")
        except apsw.Error as error:
            failure = self._undone(error)
            return [_Done(job, error=failure) for job in jobs]
        except _Spoilt as spoilt:
            self._db.execute("ROLLBACK")
            others = [job for job in jobs if job is not spoilt.job]
            alone = _Done(spoilt.job, error=spoilt.error)
            return [alone, *(self._commit(others) if others else ())]
        return done

    def _more(self, count: int) -> list[_Job]:
        if count >= BATCH_MAX or self._batches.empty():
            return []
        more = self._batches.get()
        if more is None:
            self._closing = True
        return more or []

    def _perform(self, job: _Job) -> _Done:
        try:
            return _Done(job, result=job.work(self._cursor))
        except HermesError as refused:
            return _Done(job, error=refused)
        except (ValueError, TypeError, LookupError) as fault:
            raise _Spoilt(job, fault) from fault

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
    """Give the callers their results, with one wake-up per event loop for the whole batch."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Done]] = {}
    for each in done:
        by_loop.setdefault(each.job.loop, []).append(each)
    for loop, group in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_tell_all, group)


def _tell_all(group: list[_Done]) -> None:
    for each in group:
        each.tell()


def whole_or_nothing(work: Callable[[apsw.Cursor], T]) -> Callable[[apsw.Cursor], T]:
    """Return the same job with a savepoint: it is rolled back as a whole when it refuses half-
    way."""

    def careful(db: apsw.Cursor) -> T:
        db.execute("SAVEPOINT work")
        try:
            result = work(db)
        except HermesError:
            db.execute("ROLLBACK TO work")
            raise
        finally:
            db.execute("RELEASE work")
        return result

    return careful


def close_quietly(db: apsw.Connection) -> None:
    """Close the database, which checkpoints the write-ahead log if possible; else the log is read
    next time."""
    try:
        db.close()
    except apsw.Error:
        with suppress(apsw.Error):
            db.close(force=True)
