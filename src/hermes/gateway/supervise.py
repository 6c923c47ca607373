"""The one place that may catch everything: a fault in one session or loop stays there.

A loop that fails is restarted with a growing delay; one that keeps failing ends the process.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from hermes.core.errors import Fenced, HermesError, Misconfigured, StoreBusy, StoreFailed, StoreFull

T = TypeVar("T")

RESTARTS_MAX = 5
PAUSE_S = 0.2
BUSY_PAUSE_S = 1.0
STEADY_S = 60.0
LOOK_S, LATE_S, LOOKS_MAX = 0.005, 0.02, 20

log = logging.getLogger("hermes.gateway")


async def outcome(work: Callable[[], Awaitable[T]], broken: Callable[[Exception], T]) -> T:
    """Return the work's result, or what `broken` makes of an unforeseen fault."""
    try:
        return await work()
    except Exception as error:
        log.exception("a step broke")
        return broken(error)


async def survived(
    work: Callable[[], Awaitable[None]], lost: Callable[[Exception], Awaitable[None]]
) -> None:
    """Run one session's worker, so that its failure touches no other session."""
    try:
        await work()
    except Exception as error:
        await lost(error)


@contextmanager
def naming(what: str, named: Callable[[str], HermesError]) -> Iterator[None]:
    """Guard code of plugins: raise an unforeseen fault as the error that `named` makes. The fault's
    own words go to the log only."""
    try:
        yield
    except HermesError:
        raise
    except Exception as fault:
        log.exception("%s broke", what)
        raise named(f"{type(fault).__name__}, see the log") from fault


async def caught_up() -> None:
    """Yield until the event loop is responsive again, at most 20 times."""
    loop = asyncio.get_running_loop()
    for _ in range(LOOKS_MAX):
        before = loop.time()
        await asyncio.sleep(LOOK_S)
        if loop.time() - before < LATE_S:
            return


async def keep_running(name: str, loop: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run a loop that should never end. A full or locked disk is waited for; a store that is
    damaged, or a node that was taken for dead, ends the process."""
    restarts = 0
    while True:
        began = asyncio.get_running_loop().time()
        try:
            return await loop()
        except (StoreBusy, StoreFull) as passing:
            log.warning("the %s loop waits: %s", name, passing)
            await asyncio.sleep(BUSY_PAUSE_S)
        except (StoreFailed, Fenced, Misconfigured):
            raise
        except Exception:
            if asyncio.get_running_loop().time() - began > STEADY_S:
                restarts = 0
            restarts += 1
            log.exception("the %s loop died (%d of %d)", name, restarts, RESTARTS_MAX)
            if restarts >= RESTARTS_MAX:
                raise
            await asyncio.sleep(PAUSE_S * 2**restarts)


async def all_set(events: Collection[asyncio.Event], limit_s: float) -> None:
    """Wait until all of these are set, at most that long."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    if waits:
        _, late = await asyncio.wait(waits, timeout=limit_s)
        for wait in late:
            wait.cancel()


async def cancelled(tasks: "Collection[asyncio.Task[Any]]") -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def beside(loop: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run a loop beside the block. When the loop dies, the block ends with the loop's error."""
    block = asyncio.current_task()
    assert block is not None, "there is no task to end"
    running = asyncio.create_task(loop)
    running.add_done_callback(lambda done: None if done.cancelled() else block.cancel())
    try:
        yield
    except asyncio.CancelledError:
        if not running.done() or running.cancelled():
            raise
        block.uncancel()
        await running
    finally:
        running.cancel()
        await asyncio.wait({running})
