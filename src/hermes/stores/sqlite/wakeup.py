"""A wake-up socket for each process, beside its lock: a writer rings the other processes.

It only makes waiting shorter. When a socket cannot be bound (a path too long, an odd file system),
a ring is lost, or a process dies before it rings, the waiting process polls and finds the news
anyway.
"""

import asyncio
import socket
import time
from contextlib import suppress
from pathlib import Path

from hermes.core.ids import NodeId

SUFFIX = ".bell"
LIST_S = 1.0  # a process that is alone looks for others once in that time, and pays nothing else
OTHERS_MAX = 200
HEARD_MAX = 100
RING, HELLO = b"r", b"h"


class SqliteWakeUp:
    """Wake-ups of one event loop. A ring wakes all waiters, or stays set for the next one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hung: dict[NodeId, tuple[socket.socket, asyncio.AbstractEventLoop]] = {}
        self._out: socket.socket | None = None
        self._rung = asyncio.Event()
        self._others: tuple[str, ...] = ()
        self._listed_at = float("-inf")
        self._ringing: asyncio.AbstractEventLoop | None = None

    def hang(self, node: NodeId) -> None:
        """Bind the node's socket, so that other processes can ring it, and announce it to them."""
        bell = _socket()
        if bell is None:
            return
        path = bell_of(self._folder, node)
        try:
            path.unlink(missing_ok=True)
            bell.bind(str(path))
            path.chmod(0o600)
        except OSError:
            bell.close()
            return
        loop = asyncio.get_running_loop()
        loop.add_reader(bell, self._hear, bell)
        self._hung[node] = (bell, loop)
        self._look(time.monotonic())
        if self._others:
            self._send(HELLO)

    def take_down(self, node: NodeId) -> None:
        bell, loop = self._hung.pop(node, (None, None))
        if bell is None or loop is None:
            return
        if not loop.is_closed():
            loop.remove_reader(bell)
        bell.close()
        remove_bell(self._folder, node)

    def ring(self) -> None:
        """Ring all other processes, once for all requests in this turn of the event loop."""
        now = time.monotonic()
        if now - self._listed_at > LIST_S:
            self._look(now)
        if not self._others:
            return
        loop = asyncio.get_running_loop()
        if self._ringing is not loop:
            self._ringing = loop
            loop.call_soon(self._ring)

    async def wait(self, timeout_s: float) -> bool:
        """Wait for a ring. Return False when the time-out came first."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True

    def close(self) -> None:
        if self._ringing is not None:
            self._ring()
        for node in tuple(self._hung):
            self.take_down(node)
        if self._out is not None:
            self._out.close()
            self._out = None
        self._others, self._listed_at = (), float("inf")  # a late ring reaches no process

    def _ring(self) -> None:
        if self._ringing is not None:
            self._ringing = None
            self._send(RING)

    def _look(self, now: float) -> None:
        self._listed_at = now
        own = {f"{node}{SUFFIX}" for node in self._hung}
        try:
            found = [path for path in self._folder.iterdir() if path.suffix == SUFFIX]
        except OSError:
            found = []
        others = [str(path) for path in found if path.name not in own]
        self._others = tuple(others[:OTHERS_MAX])

    def _send(self, word: bytes) -> None:
        """Send to all others without blocking or failing. A full queue is already a wake-up."""
        self._out = self._out or _socket()
        if (out := self._out) is not None:
            self._others = tuple(path for path in self._others if _reached(out, path, word))

    def _hear(self, bell: socket.socket) -> None:
        with suppress(BlockingIOError):
            for _ in range(HEARD_MAX):
                if bell.recv(1) == HELLO:
                    self._listed_at = float("-inf")
        self._rung.set()


def _socket() -> socket.socket | None:
    try:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:  # too many open files
        return None
    made.setblocking(False)
    return made


def _reached(out: socket.socket, path: str, word: bytes) -> bool:
    try:
        out.sendto(word, path)
    except BlockingIOError:
        return True
    except ConnectionRefusedError:  # the process behind that name is gone for good
        with suppress(OSError):
            Path(path).unlink()
        return False
    except OSError:
        return False
    return True


def bell_of(folder: Path, node: NodeId) -> Path:
    return folder / f"{node}{SUFFIX}"


def remove_bell(folder: Path, node: NodeId) -> None:
    with suppress(OSError):
        bell_of(folder, node).unlink()
