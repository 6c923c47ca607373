"""Processes that are measured: started in a group of their own, watched from outside, ended."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers.base import Ground, Installed, Launch, Peer

READY_S_MAX = 120.0
RUN_S_MAX = 180.0
TICKS_S = float(os.sysconf("SC_CLK_TCK"))
LOOK_S = 0.005


@dataclass(frozen=True)
class Spent:
    """What one run of a program took; `said` is what it printed."""

    wall_s: float
    cpu_s: float
    said: str


@dataclass
class Gateway:
    """A long-running process of somebody, with all that it has started."""

    peer: Peer
    ground: Ground
    child: "subprocess.Popen[bytes]"
    began: float
    log: Path

    @property
    def pid(self) -> int:
        return self.child.pid

    def kill(self) -> None:
        """With SIGKILL, the process and those of its group; what left the group stays."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.child.wait()

    def shoot(self) -> None:
        """With SIGKILL, that one process: as the kernel does when memory is short."""
        self.child.kill()
        self.child.wait()

    async def ready(self) -> float:
        """Until it says so over HTTP; seconds from its start."""
        while (waited := time.monotonic() - self.began) < READY_S_MAX:
            if self.child.poll() is not None:
                raise RuntimeError(f"{self.peer.label} ended by itself: {self.last_words()}")
            if await healthy(self.ground.port, self.peer.health):
                return waited
            await asyncio.sleep(LOOK_S)
        raise RuntimeError(f"{self.peer.label} was never ready: {self.last_words()}")

    def last_words(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-1500:]

    def cpu_s(self) -> float:
        return family_cpu_s(self.pid)

    def memory(self) -> int:
        return sum(memory_of(one) for one in family(self.pid))


@dataclass
class House:
    """Whatever was started, to be ended; and folders that go away."""

    folder: Path
    gateways: list[Gateway] = field(default_factory=list)
    models: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def ground(self, model: int, **more: object) -> Ground:
        home = Path(tempfile.mkdtemp(dir=self.folder))
        return Ground(home=home, model=model, **more)  # type: ignore[arg-type]

    def start(self, peer: Peer, installed: Installed, ground: Ground) -> Gateway:
        launch = peer.gateway(installed, ground)
        log = ground.home / "bench.log"
        with log.open("ab") as out:
            began = time.monotonic()
            child = subprocess.Popen(
                launch.words,
                env=launch.environ(ground.home),
                cwd=launch.cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        made = Gateway(peer, ground, child, began, log)
        self.gateways.append(made)
        return made

    def end(self) -> None:
        for gateway in self.gateways:
            gateway.kill()
        for model in self.models:
            model.kill()
            model.wait()
        for pid in _at_home(self.folder):  # what has left its group
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _at_home(folder: Path) -> Iterator[int]:
    """Whoever was started with a home in this folder."""
    mark = f"HOME={folder}/".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if any(each.startswith(mark) for each in entry.read_bytes().split(b"\0")):
                yield int(entry.parent.name)


def run(launch: Launch, home: Path) -> Spent:
    """To its end, with the processor time of all that it waited for."""
    began, before = time.monotonic(), _children_s()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            launch.words,
            env=launch.environ(home),
            cwd=launch.cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        limit = threading.Timer(RUN_S_MAX, child.kill)
        limit.start()
        status = child.wait()  # with a limit of its own it would only look now and then
        limit.cancel()
        wall, used = time.monotonic() - began, _children_s() - before
        out.seek(0)
        said = out.read().decode("utf-8", "replace")
    if status:
        raise RuntimeError(f"{launch.words[-3:]} ended with {status}: {said[-800:]}")
    return Spent(wall, used, said)


def _children_s() -> float:
    """Of those that were waited for, finer than the clock's ticks."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def healthy(port: int, path: str) -> bool:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
        async with asyncio.timeout(5.0):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
                return b" 200 " in (await reader.readuntil(b"\r\n"))
            finally:
                writer.close()
    return False


def family(pid: int) -> Iterator[int]:
    """A process and those it has started, as far as they are there."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text(encoding="ascii").split():
                yield from family(int(child))


def family_cpu_s(pid: int) -> float:
    """Processor time of a process, its threads and its children, alive or waited for."""
    total = 0.0
    for number, one in enumerate(family(pid)):
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{one}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            total += (int(stat[11]) + int(stat[12])) / TICKS_S
            if number == 0:
                total += (int(stat[13]) + int(stat[14])) / TICKS_S
    return total


def memory_of(pid: int) -> int:
    """Bytes that are this process's own share (PSS): what several share is counted once."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        shares = [line.split()[1] for line in text.splitlines() if line.startswith("Pss:")]
        return int(shares[0]) * 1024 if shares else 0
    return 0
