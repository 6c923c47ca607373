"""hermes gateway run: the long-running process, its signals and its supervisor.

A restart is the same process becoming a new program, so that whoever started it need not know.
"""

import asyncio
import faulthandler
import fcntl
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TextIO

import msgspec

from hermes.app import served
from hermes.cli import logs
from hermes.cli.command import Nothing
from hermes.cli.errors import DONE
from hermes.cli.place import Place
from hermes.cli.service.lock import LOCK, note
from hermes.cli.service.notify import Notify, notifier, supervised, watchdog_interval
from hermes.core.errors import Misconfigured, StoreBusy
from hermes.gateway.drain import Leaving, drain_limit
from hermes.gateway.serve import Serving
from hermes.settings import Settings, load, prepare

STACKS = "stacks.log"
FRAMES_MAX = 12
LOCK_TRIES, LOCK_PAUSE_S = 20, 0.05

StopLimit = Callable[[Mapping[str, str], int], float | None]

log = logging.getLogger("hermes.gateway")


def run(_given: Nothing, place: Place, stop_limit: StopLimit) -> int:
    settings = place.settings()
    prepare(place.home)
    logs.begin(place.home, settings, place.environ)
    with _only_one(place), _stacks(place.home / "logs" / STACKS) as stacks:
        restarts = True
        while restarts:
            restarts = asyncio.run(_serve(place, settings, stacks, stop_limit)) == "restart_timeout"
            if restarts and _can_start(place):
                place.console.tell("Starting anew.")
                os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
    return DONE


def _stacks(file: Path) -> TextIO:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "a", encoding="utf-8")


def _can_start(place: Place) -> bool:
    """With settings that are wrong a new program would end at once: the old one goes on."""
    try:
        load(place.home, place.environ)
    except Misconfigured as wrong:
        log.error("going on with the settings from before: %s", wrong)  # noqa: TRY400
        place.console.tell(f"hermes: going on with the settings from before: {wrong}")
        return False
    return True


async def _serve(
    place: Place, settings: Settings, stacks: TextIO, stop_limit: StopLimit
) -> Leaving:
    word = notifier(place.environ)
    async with (
        served(place.home, settings) as serving,
        _signals(place, serving, stacks),
        _watchdog(place, word),
    ):
        supervisor_s = None
        if supervised(place.environ):
            supervisor_s = await asyncio.to_thread(stop_limit, place.environ, os.getpid())
        limit_s = drain_limit(settings.gateway.drain_timeout_s, supervisor_s)
        leaving = await serving.run(lambda: _ready(place, serving, word), limit_s)
        word.stopping() if leaving == "shutdown_timeout" else word.reloading()
    return leaving


def _ready(place: Place, serving: Serving, word: Notify) -> None:
    _settle_down()
    names = [post.name for post in serving.hearing.posts if post.state == "connected"]
    word.ready(f"connected: {', '.join(names)}")
    place.console.tell(f"The gateway is ready (pid {os.getpid()}): {', '.join(names)}.")
    for post in serving.hearing.posts:
        if post.problem:
            place.console.tell(f"{post.name} is down: {post.problem}")


def _settle_down() -> None:
    """What was imported stays for ever: looking for garbage in it again and again costs a turn
    five percent. What garbage a start leaves is not worth looking for even once."""
    gc.freeze()


@contextmanager
def _only_one(place: Place) -> Iterator[None]:
    """The lock is the truth; the note in it says who holds it. Raises StoreBusy."""
    file = place.home / LOCK
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locked(handle):
            other = note(place.home)
            who = f" (pid {other.pid})" if other is not None else ""
            fix = "Stop it with: hermes gateway stop"
            raise StoreBusy(f"a gateway runs on {place.home} already{who}. {fix}")
        written = {"pid": os.getpid(), "started_at": place.clock(), "argv": sys.orig_argv}
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(written) + b"\n", 0)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Whoever only looks holds the lock for an instant, so it is tried a few times."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE_S)
        else:
            return True
    return False


@asynccontextmanager
async def _signals(place: Place, serving: Serving, stacks: TextIO) -> AsyncIterator[None]:
    """SIGTERM and Ctrl+C leave, SIGUSR1 starts anew, SIGUSR2 tells what everybody is doing."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        again = serving.leaving == "shutdown_timeout"
        place.console.tell("Stopping now." if again else "Letting running turns end, then leaving.")
        serving.leave("shutdown_timeout")

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGUSR1, serving.leave, "restart_timeout")
    loop.add_signal_handler(signal.SIGUSR2, _tell_tasks, stacks)
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=True)
    try:
        yield
    finally:
        faulthandler.unregister(signal.SIGUSR2)


def _tell_tasks(stacks: TextIO) -> None:
    """Threads are told by faulthandler, even when the loop hangs; this adds what awaits."""
    for task in asyncio.all_tasks():
        stacks.write(f"\ntask {task.get_name()}\n")
        task.print_stack(limit=FRAMES_MAX, file=stacks)
    stacks.flush()
    log.warning("stacks were written to logs/%s", STACKS)


@asynccontextmanager
async def _watchdog(place: Place, word: Notify) -> AsyncIterator[None]:
    """Fed by the loop itself, so only while the loop makes progress."""
    interval_s = watchdog_interval(place.environ, os.getpid())
    if interval_s is None:
        yield
        return

    async def feed() -> None:
        while True:
            word.watchdog()
            await asyncio.sleep(interval_s)

    feeding = asyncio.create_task(feed())
    try:
        yield
    finally:
        feeding.cancel()
