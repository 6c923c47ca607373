"""Waiting for processes without a thread each: by pidfd where there is one, else by asking again.

After a restart a command is nobody's child of ours; a pidfd waits for it all the same.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable

from hermes.core.ids import CallId


def open_pidfd(pid: int) -> int | None:
    """None when the process is gone or the kernel knows no pidfd."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


class Reaper:
    """The wrappers that this process started, until they have ended and are no zombies."""

    def __init__(self, open_pidfd: Callable[[int], int | None] = open_pidfd) -> None:
        self._open = open_pidfd
        self._calls: dict[int, CallId] = {}
        self._pidfds: dict[int, int] = {}

    def adopt(self, pid: int, call: CallId) -> None:
        """From now on the child is reaped when it ends, whether anybody waits for it or not;
        where there is no pidfd, when the next one is adopted."""
        for other in list(self._calls):
            self._reap(other)
        self._calls[pid] = call
        pidfd = self._open(pid)
        if pidfd is not None:
            self._pidfds[pid] = pidfd
            asyncio.get_running_loop().add_reader(pidfd, self._reap, pid)

    def child_of(self, call: CallId) -> int | None:
        """The pid of a living wrapper that we started for this call."""
        for pid in [pid for pid, owner in self._calls.items() if owner == call]:
            self._reap(pid)
        return next((pid for pid, owner in self._calls.items() if owner == call), None)

    async def exit_of(self, pid: int, timeout_s: float) -> bool:
        """True when the process has ended or that many seconds went by; False when this machine
        cannot tell and the caller has to ask again."""
        pidfd = self._open(pid)
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

    def close(self) -> None:
        for pid in list(self._calls):
            self._reap(pid)
            self._drop(pid)

    def _reap(self, pid: int) -> None:
        try:
            ended, _status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # somebody else was faster
            ended = pid
        if ended:
            self._drop(pid)

    def _drop(self, pid: int) -> None:
        self._calls.pop(pid, None)
        pidfd = self._pidfds.pop(pid, None)
        if pidfd is not None:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)


def _settle(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)
