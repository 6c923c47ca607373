"""The gateway's bars, as ratios within one run: they mean the same on any machine.

    python -m bench.gateway [NAME…] [--short]

Names: turn, slow, memory, sessions, history, start, crash, idle; and soak, which takes an hour.
The model answers at once, on a loopback port, in a process of its own; so do the clients. Prints a
table, then one line of JSON. The exit status is 1 when a bar is missed. `--short`: fewer turns,
for a look.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx2

from bench.load import KEY, Load, cpu_of, load, memory_of
from bench.long import with_history

ROOT = Path(__file__).parents[1]
SRC = str(ROOT / "src")
WARM = 5
READY_S = 60.0


@dataclass(frozen=True)
class Bar:
    name: str
    ratio: float
    limit: float
    detail: str

    @property
    def holds(self) -> bool:
        return self.ratio <= self.limit


@dataclass
class Process:
    """A gateway, or another program of ours, with its own home."""

    child: "subprocess.Popen[str]"
    home: Path
    port: int = 0

    @property
    def pid(self) -> int:
        return self.child.pid

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()


@dataclass
class Stage:
    """Whatever was started, to be ended."""

    folder: Path
    short: bool
    started: list[Process] = field(default_factory=list)

    def spoken(self, *words: str) -> Process:
        """A program that says its port first."""
        child = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdout=subprocess.PIPE,
            text=True,
            env=_environ(),
            cwd=ROOT,
        )
        assert child.stdout is not None
        made = Process(child, self.folder, int(child.stdout.readline()))
        self.started.append(made)
        return made

    def model(self, delay_s: float = 0.0) -> int:
        return self.spoken("bench.model", "--delay", str(delay_s)).port

    async def gateway(self, model: int, home: Path | None = None) -> Process:
        home = home or Path(tempfile.mkdtemp(dir=self.folder))
        port = _free_port()
        section = {"provider": "custom", "base_url": f"http://127.0.0.1:{model}/v1", "name": "m"}
        api = {"enabled": True, "port": port, "key": KEY}
        settings = {"model": {**section, "api_key": "k"}, "platforms": {"api": api}}
        (home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
        child = subprocess.Popen(
            [sys.executable, "-m", "hermes", "gateway", "run"],
            env={**_environ(), "HERMES_HOME": str(home)},
            stderr=subprocess.DEVNULL,
            text=True,
        )
        made = Process(child, home, port)
        self.started.append(made)
        await ready(port)
        return made


async def ready(port: int) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            if b" 200 " in head:
                return
        await asyncio.sleep(0.02)
    raise RuntimeError("the gateway was never ready")


async def bar_turn(stage: Stage) -> AsyncIterator[Bar]:
    """A plain turn against what it cannot do without; one after the other, three times."""
    model = stage.model()
    unit = stage.spoken("bench.unit", str(model), str(stage.folder))
    here = await stage.gateway(model)
    turns = 5 if stage.short else 30
    await load(unit.port, unit.pid, sessions=64, turns=WARM)
    await load(here.port, here.pid, sessions=64, turns=WARM)
    pairs: list[tuple[Load, Load]] = []
    for n in range(3):  # each in conversations of its own, which have begun: that is a plain turn
        await load(here.port, here.pid, sessions=64, turns=1, name=f"round{n}-")
        bare = await load(unit.port, unit.pid, sessions=64, turns=turns, name=f"round{n}-")
        ours = await load(here.port, here.pid, sessions=64, turns=turns, name=f"round{n}-")
        pairs.append((bare, ours))
    bare, ours = sorted(pairs, key=lambda pair: pair[1].cpu_turn_s / pair[0].cpu_turn_s)[1]
    detail = f"{_ms(ours.cpu_turn_s)} / {_ms(bare.cpu_turn_s)} of CPU, {ours.turns_s:.0f} turns/s"
    yield Bar("CPU of a turn over its unit", ours.cpu_turn_s / bare.cpu_turn_s, 3.0, detail)


async def bar_slow(stage: Stage) -> AsyncIterator[Bar]:
    """64 sessions wait for a slow model at the same time."""
    delay_s = 5.0
    here = await stage.gateway(stage.model(delay_s))
    done = await load(here.port, here.pid, sessions=64, turns=1)
    detail = f"{done.wall_s:.2f} s / {delay_s} s"
    yield Bar("64 sessions on a slow model", done.wall_s / delay_s, 1.1, detail)


async def bar_memory(stage: Stage) -> AsyncIterator[Bar]:
    """Idle against the imports alone, then after many sessions."""
    imports, _ = _imports(stage)
    here = await stage.gateway(stage.model())
    await asyncio.sleep(1.0)
    idle = memory_of(here.pid)
    yield Bar("idle memory over its imports", idle / imports, 1.4, f"{_mb(idle)} / {_mb(imports)}")
    sessions, turns = (100, 5) if stage.short else (1000, 20)
    await load(here.port, here.pid, sessions=sessions, turns=turns)
    full = memory_of(here.pid)
    detail = f"{_mb(full)} / {_mb(idle)}"
    yield Bar(f"memory after {sessions} sessions of {turns} turns", full / idle, 1.5, detail)


async def bar_sessions(stage: Stage) -> AsyncIterator[Bar]:
    """The same turns with few and with many known sessions."""
    many = 500 if stage.short else 10_000
    turns = 10 if stage.short else 60
    model = stage.model()
    few, crowd = await stage.gateway(model), await stage.gateway(model)
    await load(few.port, few.pid, sessions=10, turns=1)
    await load(crowd.port, crowd.pid, sessions=many, turns=1)
    ratios: list[tuple[float, str]] = []
    for n in range(5):
        one = await load(few.port, few.pid, sessions=10, turns=turns, name=f"few{n}-")
        other = await load(crowd.port, crowd.pid, sessions=10, turns=turns, name=f"few{n}-")
        detail = f"{_ms(other.cpu_turn_s)} / {_ms(one.cpu_turn_s)}"
        ratios.append((other.cpu_turn_s / one.cpu_turn_s, detail))
    ratio, detail = sorted(ratios)[len(ratios) // 2]
    yield Bar(f"CPU of a turn with {many:,} sessions over 10", ratio, 1.2, detail)


async def bar_history(stage: Stage) -> AsyncIterator[Bar]:
    """A long history against a short one of as many bytes: the request itself costs the same."""
    model = stage.model()
    turns = 5 if stage.short else 40
    short, long = [await stage.gateway(model, await _history(stage, n)) for n in (10, 1000)]
    for one in (short, long):
        await load(one.port, one.pid, sessions=1, turns=2, name="old")
    ratios: list[tuple[float, str]] = []
    for _ in range(5):
        few = await load(short.port, short.pid, sessions=1, turns=turns, name="old")
        many = await load(long.port, long.pid, sessions=1, turns=turns, name="old")
        detail = f"{_ms(many.cpu_turn_s)} / {_ms(few.cpu_turn_s)}"
        ratios.append((many.cpu_turn_s / few.cpu_turn_s, detail))
    ratio, detail = sorted(ratios)[len(ratios) // 2]
    yield Bar("CPU of a turn with 1,000 messages over 10", ratio, 1.5, detail)


async def bar_start(stage: Stage) -> AsyncIterator[Bar]:
    """From nothing to ready."""
    _, imports_s = _imports(stage)
    here = await stage.gateway(stage.model())
    used = cpu_of(here.pid)
    detail = f"{_ms(used)} / {_ms(imports_s)}"
    yield Bar("CPU until ready over that of the imports", used / imports_s, 3.0, detail)


async def bar_crash(stage: Stage) -> AsyncIterator[Bar]:
    """Many turns are interrupted at once; all of them go on, and others are served meanwhile."""
    count = 100 if stage.short else 1000
    slow = await stage.gateway(stage.model(30.0))
    lost = asyncio.create_task(
        load(slow.port, slow.pid, sessions=count, turns=1, name="cut", wide=count)
    )
    await _until_running(slow, count)
    slow.kill()
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await lost
    again = await stage.gateway(stage.model(), slow.home)
    began = time.monotonic()
    first = asyncio.create_task(_until_one_answered(again, count))
    await load(again.port, again.pid, sessions=1, turns=1, name="other")
    served_s = time.monotonic() - began
    done_s = await _until_answered(again, count, began)
    first_s = first.result() - began
    yield Bar("seconds from ready to the first interrupted turn", first_s, 1.0, f"{first_s:.2f} s")
    share, detail = served_s / abs(done_s), f"{served_s:.2f} s / {done_s:.2f} s"
    yield Bar("another session's answer over all interrupted ones", share, 0.5, detail)
    detail = f"{count:,} interrupted turns answered in {done_s:.1f} s"
    yield Bar("interrupted turns that were not picked up", float(done_s < 0), 0.0, detail)


async def bar_idle(stage: Stage) -> AsyncIterator[Bar]:
    """Nothing happens for a while; a hundredth of a processor would be too much."""
    here = await stage.gateway(stage.model())
    await load(here.port, here.pid, sessions=64, turns=2)
    await asyncio.sleep(10.0)  # what is done in the quiet after a conversation is over by then
    seconds = 10.0 if stage.short else 60.0
    before = cpu_of(here.pid)
    await asyncio.sleep(seconds)
    share = (cpu_of(here.pid) - before) / seconds
    yield Bar("share of a processor when idle", share, 0.002, f"{share:.2%} over {seconds:.0f} s")


async def bar_soak(stage: Stage) -> AsyncIterator[Bar]:
    """An hour of steady load: what it holds after a tenth of it is what it holds in the end."""
    seconds = 60.0 if stage.short else 3600.0
    here = await stage.gateway(stage.model())
    began, first, rounds = time.monotonic(), 0, 0
    while time.monotonic() - began < seconds:
        await load(here.port, here.pid, sessions=200, turns=2, name=f"round{rounds}-")
        rounds += 1
        if not first and time.monotonic() - began > seconds / 10:
            first = memory_of(here.pid)
    last = memory_of(here.pid)
    detail = f"{_mb(last)} / {_mb(first)}, {rounds * 400:,} turns in {rounds * 200:,} sessions"
    yield Bar("memory at the end of a soak over its beginning", last / first, 1.1, detail)


Table = Mapping[str, Callable[[Stage], AsyncIterator[Bar]]]
BARS: Table = {
    "turn": bar_turn,
    "slow": bar_slow,
    "memory": bar_memory,
    "sessions": bar_sessions,
    "history": bar_history,
    "start": bar_start,
    "crash": bar_crash,
    "idle": bar_idle,
    "soak": bar_soak,
}
LONG = ("soak",)  # only when they are named


async def _history(stage: Stage, messages: int) -> Path:
    home = Path(tempfile.mkdtemp(dir=stage.folder))
    await with_history(home / "hermes.db", "old0", messages)
    return home


def _imports(stage: Stage) -> tuple[int, float]:
    """Memory and CPU of a process that imports what the gateway does, and nothing else."""
    code = (
        "import hermes.cli.main, hermes.cli.gateway.run, hermes.app.models, hermes.app.platforms\n"
        "import hermes.channels.local.server, hermes.channels.api.server, hermes.stores.sqlite\n"
        "import hermes.channels.api.settings, hermes.stores.media, hermes.terminals.local\n"
        "import hermes.tools.defaults, hermes.settings, resource, sys\n"
        "print(0, flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=_environ(),
    )
    assert child.stdout is not None
    child.stdout.readline()
    stage.started.append(Process(child, stage.folder))
    return memory_of(child.pid), cpu_of(child.pid)


async def _status(here: Process) -> dict[str, object]:
    words = [sys.executable, "-m", "hermes", "gateway", "status", "--json"]
    env = {**_environ(), "HERMES_HOME": str(here.home)}
    run = await asyncio.to_thread(
        subprocess.run, words, env=env, capture_output=True, text=True, check=False
    )
    value = json.loads(run.stdout)
    assert isinstance(value, dict)
    return value


async def _until_running(here: Process, count: int) -> None:
    while True:
        turns = (await _status(here))["turns"]
        assert isinstance(turns, dict)
        if turns["running"] >= count:
            return
        await asyncio.sleep(0.2)


async def _until_one_answered(here: Process, count: int) -> float:
    """When: one that is answered was running before."""
    headers = {"authorization": f"Bearer {KEY}"}
    running = re.compile(r'^hermes_sessions_in\{phase="running"\} (\d+)', re.M)
    async with httpx2.AsyncClient(headers=headers, timeout=30.0, verify=False) as http:
        while True:
            told = await http.get(f"http://127.0.0.1:{here.port}/metrics")
            found = running.search(told.text)
            if found is not None and int(found[1]) < count:
                return time.monotonic()
            await asyncio.sleep(0.02)


async def _until_answered(here: Process, count: int, began: float) -> float:
    while time.monotonic() - began < READY_S * 2:
        status = await _status(here)
        turns = status["turns"]
        assert isinstance(turns, dict)
        if turns["running"] == 0 and status["marks"] == {} and status["sessions"] == count + 1:
            return time.monotonic() - began
        await asyncio.sleep(0.1)
    return -1.0


def _environ() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": f"{SRC}:{ROOT}", "HOME": tempfile.gettempdir()}


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def _mb(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


@contextlib.contextmanager
def staged(*, short: bool) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), short)
        try:
            yield stage
        finally:
            for process in stage.started:
                process.kill()


async def measured(table: Table, names: list[str], *, short: bool) -> list[Bar]:
    bars: list[Bar] = []
    for name in names:
        with staged(short=short) as stage:
            async for bar in table[name](stage):
                sign = "holds " if bar.holds else "MISSED"
                print(f"{sign}  {bar.ratio:8.3f}  <= {bar.limit:<6}  {bar.name}  ({bar.detail})")
                bars.append(bar)
    return bars


def main(table: Table, about: str | None) -> int:
    """Measure the bars that the command line names; return the exit status."""
    words = argparse.ArgumentParser(description=about)
    words.add_argument("names", nargs="*", choices=[*table, []])
    words.add_argument("--short", action="store_true")
    given = words.parse_args()
    names = given.names or [name for name in table if name not in LONG]
    bars = asyncio.run(measured(table, names, short=given.short))
    print(json.dumps([{**asdict(bar), "holds": bar.holds} for bar in bars]))
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main(BARS, __doc__))
