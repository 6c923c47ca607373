"""A doorbell for each process, beside its lock: whoever has written something for others rings.

It only makes waiting shorter. A bell that cannot be hung (a path too long, an odd file system), a
ring that is lost, a process that dies before it rings: who waits looks for itself in the end.
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


class Bell:
    """Used on one event loop. It wakes all who wait, or else stays rung for the next who does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hung: dict[NodeId, tuple[socket.socket, asyncio.AbstractEventLoop]] = {}
        self._out: socket.socket | None = None
        self._rung = asyncio.Event()
        self._others: tuple[str, ...] = ()
        self._listed_at = float("-inf")
        self._ringing: asyncio.AbstractEventLoop | None = None

    def hang(self, node: NodeId) -> None:
        """Others can ring for this node from now on, and are told that it is there."""
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
        """Everybody else, once for all that ask for it in this turn of the loop."""
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
        """False when nobody has rung."""
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
        self._others, self._listed_at = (), float("inf")  # who is late rings for nobody

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
        """Never waits and never fails: a full queue has been rung often enough."""
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
    except ConnectionRefusedError:  # nobody can ever be behind that name again
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
