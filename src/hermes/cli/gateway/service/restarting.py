"""Check whether the gateway may restart, in a program of its own, while the old one serves.

It is the program that would run next, with the current settings: a problem is found while the old
one still serves, and that one is left untouched.
"""

import asyncio
import logging
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes.cli.context import CliContext
from hermes.cli.gateway.service.lock import LockNote, RestartCheck
from hermes.settings.home import CONFIG, SECRETS

CHECK = "check"  # in the place of `run`, the last word of our command line
CHECK_S = 30.0
COMPLAINT = "hermes: "

log = logging.getLogger("hermes.gateway")


class Restarts:
    """Run restart checks. Each request gets the result of a check that began after it."""

    def __init__(self, context: CliContext, note: LockNote) -> None:
        self._context = context
        self._note = note
        self._checked_with: Sequence[object] | None = None  # the files that were found right
        self._wanted = False
        self._deciding: asyncio.Task[None] | None = None

    def ask(self, leave: Callable[[], None]) -> None:
        """Check for a signal handler; `leave` is called when the settings are right."""
        self._wanted = True
        if self._deciding is None or self._deciding.done():
            self._deciding = asyncio.create_task(self._decide(leave))

    async def check(self) -> str:
        """Return why a new program could not start; empty when it could."""
        began, files = time.monotonic(), self._files()
        problem = await problem_of_start([sys.executable, *sys.orig_argv[1:-1], CHECK])
        self._checked_with = None if problem else files
        self._note.add(checked=RestartCheck(began, problem))
        if problem:
            log.error("not restarting, a new start would fail: %s", problem)
            self._context.console.tell(f"hermes: not restarting, a new start would fail: {problem}")
        return problem

    async def close(self) -> None:
        if self._deciding is not None and not self._deciding.done():
            self._deciding.cancel()
            await asyncio.wait({self._deciding})

    def still_right(self) -> bool:
        """Return True if the settings still pass. They may have changed, because a drain may take
        long."""
        return self._checked_with == self._files() or not asyncio.run(self.check())

    async def _decide(self, leave: Callable[[], None]) -> None:
        problem = ""
        while self._wanted:
            self._wanted = False
            problem = await self.check()
        if not problem:
            leave()

    def _files(self) -> Sequence[object]:
        return [_version(self._context.home / name) for name in (CONFIG, SECRETS)]


def _version(file: Path) -> object:
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


async def problem_of_start(command: Sequence[str], limit_s: float = CHECK_S) -> str:
    """Return what the checking program complains about; empty when nothing."""
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
        )
    except OSError as refused:
        return f"the settings could not be checked: {refused}"
    try:
        async with asyncio.timeout(limit_s):
            _, complaints = await child.communicate()
    except TimeoutError:
        return f"the check of the settings did not end within {limit_s:.0f} s"
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == 0:
        return ""
    lines = [line for line in complaints.decode("utf-8", "replace").splitlines() if line.strip()]
    said = lines[-1].strip().removeprefix(COMPLAINT) if lines else ""
    return said or f"the check of the settings ended with status {child.returncode}"
