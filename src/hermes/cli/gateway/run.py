"""hermes gateway run: the long-running process, its signals and its supervisor.

A restart replaces the program in the same process, so the supervisor need not know of it.
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
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hermes.app.application import served
from hermes.cli import log_file
from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.gateway.service.lock import LOCK, LockNote
from hermes.cli.gateway.service.lock import note as noted_by
from hermes.cli.gateway.service.notify import Notify, notifier, supervised, watchdog_interval
from hermes.cli.gateway.service.restarting import Restarts
from hermes.core.errors import StoreBusy
from hermes.gateway.drain import Leaving, drain_limit
from hermes.gateway.serve import Serving
from hermes.lazy import LazyModule
from hermes.settings import Settings, prepare

if TYPE_CHECKING:
    from hermes.cli.gateway.service import limit
else:  # only a supervisor has one
    limit = LazyModule("hermes.cli.gateway.service.limit")

GARBAGE_OBJECTS = 50_000  # new ones that lead to a collection
STACKS = "stacks.log"
FRAMES_MAX = 12
LOCK_TRIES, LOCK_PAUSE_S = 20, 0.05
log = logging.getLogger("hermes.gateway")


def run(_options: NoOptions, context: CliContext) -> int:
    settings = context.settings()
    prepare(context.home)
    log_file.begin(context.home, settings, context.environ)
    with _only_one(context) as note, _stacks(context.home / "logs" / STACKS) as stacks:
        leaving: Leaving = "restart_timeout"
        while leaving == "restart_timeout":
            restarts = Restarts(context, note)
            leaving = asyncio.run(_serve(context, settings, stacks, restarts, note))
            if leaving == "restart_timeout" and restarts.still_right():
                context.console.tell("Restarting.")
                os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
    return DONE


def _stacks(file: Path) -> TextIO:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "a", encoding="utf-8")


async def _serve(
    context: CliContext,
    settings: Settings,
    stacks: TextIO,
    restarts: Restarts,
    note: LockNote,
) -> Leaving:
    word = notifier(context.environ)
    async with (
        served(context.home, settings) as serving,
        _signals(context, serving, stacks, restarts),
        _watchdog(context, word),
    ):
        serving.engine.preflight = restarts.check
        note.add(listens=serving.listens)
        supervisor_s = None
        if supervised(context.environ):
            supervisor_s = await asyncio.to_thread(limit.stop_limit, context.environ, os.getpid())
        limit_s = drain_limit(settings.gateway.drain_timeout_s, supervisor_s)
        leaving = await serving.run(lambda: _ready(context, serving, word), limit_s)
        word.stopping() if leaving == "shutdown_timeout" else word.reloading()
    return leaving


def _ready(context: CliContext, serving: Serving, word: Notify) -> None:
    _settle_down()
    posts, runs = serving.receivers.posts, serving.services.runs
    names = [post.name for post in posts if post.state == "connected"]
    running = [run.name for run in runs if run.state == "running"]
    word.ready(f"connected: {', '.join(names)}")
    services = f" Services: {', '.join(running)}." if running else ""
    context.console.tell(f"The gateway is ready (pid {os.getpid()}): {', '.join(names)}.{services}")
    problems = {post.name: post.problem for post in posts} | {r.name: r.problem for r in runs}
    for name, problem in problems.items():
        if problem:
            context.console.tell(f"{name} is down: {problem}")


def _settle_down() -> None:
    """Freeze the imported objects out of garbage collection, which would otherwise cost a turn five
    percent. The start's own garbage is not worth a collection; from now on there is one in time."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)


@contextmanager
def _only_one(context: CliContext) -> Iterator[LockNote]:
    """Hold the lock of this home and yield the note in it. Raise StoreBusy."""
    file = context.home / LOCK
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locked(handle):
            other = noted_by(context.home)
            who = f" (pid {other.pid})" if other is not None else ""
            fix = "Stop it with: hermes gateway stop"
            raise StoreBusy(f"a gateway is already running on {context.home}{who}. {fix}")
        yield LockNote(handle, pid=os.getpid(), started_at=context.clock(), argv=sys.orig_argv)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Try to take the lock a few times, because a process that only checks holds it for an
    instant."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE_S)
        else:
            return True
    return False


@asynccontextmanager
async def _signals(
    context: CliContext, serving: Serving, stacks: TextIO, restarts: Restarts
) -> AsyncIterator[None]:
    """Handle signals: SIGTERM and Ctrl+C stop, SIGUSR1 restarts if the settings are right, SIGUSR2
    writes all stacks."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        again = serving.leaving == "shutdown_timeout"
        context.console.tell(
            "Stopping now." if again else "Waiting for running turns, then stopping."
        )
        serving.leave("shutdown_timeout")

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop)
    leave = partial(serving.leave, "restart_timeout")
    loop.add_signal_handler(signal.SIGUSR1, restarts.ask, leave)
    loop.add_signal_handler(signal.SIGUSR2, _tell_tasks, stacks)
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=True)
    try:
        yield
    finally:
        faulthandler.unregister(signal.SIGUSR2)
        await restarts.close()


def _tell_tasks(stacks: TextIO) -> None:
    """Write the stacks of all tasks. faulthandler writes those of the threads, even when the loop
    hangs."""
    for task in asyncio.all_tasks():
        stacks.write(f"\ntask {task.get_name()}\n")
        task.print_stack(limit=FRAMES_MAX, file=stacks)
    stacks.flush()
    log.warning("stacks were written to logs/%s", STACKS)


@asynccontextmanager
async def _watchdog(context: CliContext, word: Notify) -> AsyncIterator[None]:
    """Feed the supervisor's watchdog from the event loop, so only while the loop makes progress."""
    interval_s = watchdog_interval(context.environ, os.getpid())
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


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
    more="""SIGTERM lets running turns finish, then stops. SIGUSR1 checks the settings first, then
restarts. SIGUSR2 writes to the log what every task is doing.""",
)
