"""Waiting for processes without a thread each: by pidfd where there is one, else by asking again.

A command is never a child of ours, before a restart or after it; a pidfd waits for it all the same.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable

PidFds = Callable[[int], int | None]


def open_pidfd(pid: int) -> int | None:
    """None when the process is gone or the kernel knows no pidfd."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


async def exit_of(pid: int, timeout_s: float, pidfds: PidFds = open_pidfd) -> bool:
    """True when the process has ended or that many seconds went by; False when this machine
    cannot tell and the caller has to ask again."""
    pidfd = pidfds(pid)
    if pidfd is None:
        return False
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(pidfd, _settle, ended)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await ended
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
    return True


def _settle(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)
