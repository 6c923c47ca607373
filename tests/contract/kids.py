"""Other processes that a test starts, talks to, stops, wakes and kills."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ANSWER_S = 90.0


class Kid:
    """One process running `child.py`."""

    def __init__(self, running: asyncio.subprocess.Process) -> None:
        self._running = running

    async def ask(self, verb: str, *arguments: object) -> Any:
        self.tell(verb, *arguments)
        return await self.hear()

    def tell(self, verb: str, *arguments: object) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(json.dumps([verb, *arguments]).encode() + b"\n")

    async def hear(self) -> Any:
        assert self._running.stdout is not None
        async with asyncio.timeout(ANSWER_S):
            line = await self._running.stdout.readline()
        return json.loads(line) if line else None

    async def stop(self) -> None:
        """Freeze it, between two writes."""
        await self.ask("still")
        self.freeze()

    def freeze(self) -> None:
        """Stop it wherever it is, also in the middle of a write."""
        os.kill(self._running.pid, signal.SIGSTOP)

    def wake(self) -> None:
        os.kill(self._running.pid, signal.SIGCONT)

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._running.kill()
        await self._running.wait()

    async def hear_all(self) -> list[Any]:
        """What is still to be read from a process that was killed."""
        assert self._running.stdout is not None
        rest = await self._running.stdout.read()
        return [json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]


@contextlib.asynccontextmanager
async def kid(place: str, *, lease_s: float) -> AsyncIterator[Kid]:
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.contract.child",
        place,
        str(lease_s),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    child = Kid(running)
    try:
        assert await child.hear() == "ready"
        yield child
    finally:
        await child.kill()
