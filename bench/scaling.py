"""What one, two and three gateways on one PostgreSQL do with the same load, and when one dies.

    python -m bench.scaling [NAME…] [--short]

Names: share (turns and CPU by number of gateways), machines (the same, each gateway with a small
part of a processor, as if it had a machine of its own; needs root), place (a session at its own
node against one at another), death (SIGKILL under load), cost (what an idle node takes). The server
flushes for real. Model, clients, gateways and server share this machine. Prints a table and one
line of JSON. There are no bars: the numbers are for docs/SCALING.md.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psycopg
from tests.contract.server import fresh_database, running_server

from bench.load import KEY, cpu_of, load, memory_of

ROOT = Path(__file__).parents[1]
COUNTS = (1, 2, 3)
CLIENTS = 48
READY_S = 60.0
MODEL_S = 1.0  # how long the model takes in `death`
AGAIN_S = 0.05
PART, PERIOD_US = 0.15, 20_000  # of a processor, for a gateway in `machines`

Report = dict[str, object]


@dataclass
class Node:
    child: "subprocess.Popen[str]"
    port: int

    @property
    def pid(self) -> int:
        return self.child.pid


@dataclass
class Stage:
    """Whatever was started, to be ended; and the databases of one server."""

    folder: Path
    server: str
    short: bool
    databases: contextlib.ExitStack
    started: list["subprocess.Popen[str]"] = field(default_factory=list)

    def database(self) -> str:
        return self.databases.enter_context(fresh_database(self.server))

    def model(self, delay_s: float = 0.0) -> int:
        words = [sys.executable, "-m", "bench.model", "--delay", str(delay_s)]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=_environ(), cwd=ROOT)
        self.started.append(child)
        assert child.stdout is not None
        return int(child.stdout.readline())

    async def nodes(self, count: int, url: str, model: int) -> list[Node]:
        made = [self._node(url, model) for _ in range(count)]
        await asyncio.gather(*(_ready(node.port) for node in made))
        return made

    def _node(self, url: str, model: int) -> Node:
        home, port = Path(tempfile.mkdtemp(dir=self.folder)), _free_port()
        section = {"provider": "custom", "base_url": f"http://127.0.0.1:{model}/v1", "name": "m"}
        api = {"enabled": True, "port": port, "key": KEY}
        settings = {
            "model": {**section, "api_key": "k"},
            "platforms": {"api": api},
            "store": {"url": url},
        }
        (home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
        words = [sys.executable, "-m", "hermes", "gateway", "run"]
        environ = {**_environ(), "HERMES_HOME": str(home)}
        child = subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL, text=True)
        self.started.append(child)
        return Node(child, port)


async def share(stage: Stage) -> AsyncIterator[Report]:
    """The same clients, spread over one, two or three gateways."""
    async for report in _compared(stage, await _clusters(stage)):
        yield report


async def machines(stage: Stage) -> AsyncIterator[Report]:
    """The same, where the processor is what each gateway is short of."""
    clusters = await _clusters(stage)
    with contextlib.ExitStack() as caps:
        try:
            for node in (node for here in clusters.values() for node in here):
                caps.enter_context(_capped(node.pid))
        except OSError as refused:
            yield {"what": "gateways with a part of a processor each", "left_out": str(refused)}
            return
        async for report in _compared(stage, clusters):
            yield {**report, "what": f"{report['what']}, {PART:.0%} of a processor each"}


async def _clusters(stage: Stage) -> dict[int, list[Node]]:
    model = stage.model()
    clusters = {n: await stage.nodes(n, stage.database(), model) for n in COUNTS}
    for here in clusters.values():
        await _spread(here, 2, "warm", CLIENTS)
    return clusters


async def _compared(stage: Stage, clusters: dict[int, list[Node]]) -> AsyncIterator[Report]:
    """In turns, three times. Fewer clients at a gateway make smaller batches, which is dearer with
    one gateway too: `company` is what remains when that is taken out."""
    turns, rounds = (3, 1) if stage.short else (15, 3)
    found: dict[int, list[Sample]] = {n: [] for n in COUNTS}
    few: dict[int, list[Sample]] = {n: [] for n in COUNTS}
    for number in range(rounds):
        for n, here in clusters.items():
            found[n].append(await _spread(here, turns, f"r{number}-", CLIENTS))
            few[n].append(await _spread(clusters[1], turns, f"f{n}-{number}-", CLIENTS // n))
    alone = _middle(found[1])
    for n in COUNTS:
        all_, one = _middle(found[n]), _middle(few[n])
        yield {
            "what": f"{n} gateway{'s' if n > 1 else ''}, {CLIENTS} clients",
            "turns_s": round(all_[0], 1),
            "gateway_ms": round(all_[1] * 1e3, 2),
            "server_ms": round(all_[2] * 1e3, 2),
            "turns_ratio": round(all_[0] / alone[0], 2),
            "gateway_company": round(all_[1] / one[1], 2),
            "server_company": round(all_[2] / one[2], 2),
        }


Sample = tuple[float, float, float]


def _middle(samples: Sequence[Sample]) -> Sample:
    first, second, third = (statistics.median(each) for each in zip(*samples, strict=True))
    return first, second, third


async def _spread(here: Sequence[Node], turns: int, name: str, clients: int) -> Sample:
    """Turns a second of all together; CPU of a turn in the gateways, and in the server."""
    each = clients // len(here)
    server, began = _server_cpu(), time.monotonic()
    loads = await asyncio.gather(
        *(
            load(node.port, node.pid, sessions=each, turns=turns, name=f"{name}{n}-")
            for n, node in enumerate(here)
        )
    )
    done, wall_s = sum(one.turns for one in loads), time.monotonic() - began
    cpu_s = sum(one.cpu_s for one in loads)
    return done / wall_s, cpu_s / done, (_server_cpu() - server) / done


@contextlib.contextmanager
def _capped(pid: int) -> Iterator[None]:
    """Let a process have no more than its part of a processor. Raises OSError."""
    quota, old = int(PART * PERIOD_US), Path("/sys/fs/cgroup/cpu")
    group = (old if old.is_dir() else old.parent) / f"hermes-bench-{pid}"
    group.mkdir()
    try:
        if old.is_dir():
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US), encoding="ascii")
            (group / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}", encoding="ascii")
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
        yield
        (group.parent / "cgroup.procs").write_text(str(pid), encoding="ascii")
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


async def place(stage: Stage) -> AsyncIterator[Report]:
    """A session that one node has, asked there and asked at another."""
    here = await stage.nodes(2, stage.database(), stage.model())
    turns = 5 if stage.short else 20
    async with httpx2.AsyncClient(timeout=60.0) as http:
        await _answered(http, here[0].port, "mine", "first")
        times: list[list[float]] = []
        for n, node in enumerate(here):
            times.append([])
            for turn in range(turns):
                began = time.monotonic()
                await _answered(http, node.port, "mine", f"{n}-{turn}")
                times[n].append(time.monotonic() - began)
    first, second = sorted(times, key=statistics.median)
    quick, slow = statistics.median(first), statistics.median(second)
    yield {
        "what": "a turn asked for at another node",
        "own_ms": round(quick * 1e3, 1),
        "other_ms": round(slow * 1e3, 1),
        "other_ms_max": round(max(second) * 1e3, 1),
    }


async def death(stage: Stage) -> AsyncIterator[Report]:
    """Each client is in mid-turn when a third of them loses its node; they ask the others."""
    here = await stage.nodes(3, stage.database(), stage.model(MODEL_S))
    dead, others = here[0], here[1:]
    clients = 9 if stage.short else 60
    after: list[float] = []
    killed: list[float] = []

    async def client(http: httpx2.AsyncClient, number: int) -> None:
        node = here[number % len(here)]
        while True:
            with contextlib.suppress(httpx2.TransportError):
                await _answered(http, node.port, f"d{number}", "once")
                break
            node = others[number % len(others)]
            await asyncio.sleep(AGAIN_S)
        if number % len(here) == 0:
            after.append(time.monotonic() - killed[0])

    limits = httpx2.Limits(max_connections=clients)
    async with httpx2.AsyncClient(timeout=60.0, limits=limits) as http:
        working = [asyncio.create_task(client(http, number)) for number in range(clients)]
        await asyncio.sleep(MODEL_S * 0.8)
        killed.append(time.monotonic())
        dead.child.kill()
        await asyncio.gather(*working)
    yield {
        "what": f"one of three killed with {len(after)} turns in its hands",
        "answered_s": round(statistics.median(after), 2),
        "answered_s_max": round(max(after), 2),
        "of_which_model_s": MODEL_S,
    }


async def cost(stage: Stage) -> AsyncIterator[Report]:
    """What a node takes while nothing happens."""
    url = stage.database()
    here = await stage.nodes(3, url, stage.model())
    await _spread(here, 2, "warm", CLIENTS)
    await asyncio.sleep(2.0)
    seconds = 5.0 if stage.short else 30.0
    before, server = [cpu_of(node.pid) for node in here], _server_cpu()
    await asyncio.sleep(seconds)
    used = sum(cpu_of(node.pid) for node in here) - sum(before)
    with psycopg.connect(url) as connection:
        question = "select count(*) from pg_stat_activity where application_name like 'hermes-%'"
        row = connection.execute(question.encode()).fetchone()
    assert row is not None
    yield {
        "what": f"an idle node of three, over {seconds:.0f} s",
        "connections": round(row[0] / len(here), 1),
        "memory_mb": round(sum(memory_of(node.pid) for node in here) / len(here) / 1e6),
        "cpu_percent": round(100 * used / seconds / len(here), 2),
        "server_cpu_percent": round(100 * (_server_cpu() - server) / seconds / len(here), 2),
    }


PARTS: dict[str, Callable[[Stage], AsyncIterator[Report]]] = {
    "share": share,
    "machines": machines,
    "place": place,
    "death": death,
    "cost": cost,
}


async def _answered(http: httpx2.AsyncClient, port: int, session: str, key: str) -> None:
    headers = {"authorization": f"Bearer {KEY}", "x-hermes-session-id": session}
    body = {"model": "hermes", "messages": [{"role": "user", "content": "Go on, please."}]}
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    named = {**headers, "idempotency-key": f"{session}-{key}"}
    got = await http.post(url, json=body, headers=named)
    if got.status_code != 200:
        raise RuntimeError(got.text)


def _server_cpu() -> float:
    """Of every process of the server that this run has started."""
    total = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if folder.joinpath("comm").read_text(encoding="ascii").strip() != "postgres":
                continue
            if _SERVER in _names(folder):
                total += cpu_of(int(folder.name))
    return total


_SERVER = f"hermes-pg-bench-scaling-{os.getpid()}"


def _names(folder: Path) -> str:
    """Where it works: the folder of its database, whatever it calls itself."""
    return str(folder.joinpath("cwd").readlink())


async def _ready(port: int) -> None:
    deadline = time.monotonic() + READY_S
    async with httpx2.AsyncClient(timeout=5.0) as http:
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx2.TransportError):
                if (await http.get(f"http://127.0.0.1:{port}/health")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
    raise RuntimeError("a gateway was never ready")


def _environ() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    path = f"{ROOT / 'src'}:{ROOT}"
    return {**kept, "PYTHONPATH": path, "HOME": tempfile.gettempdir()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def staged(server: str, *, short: bool) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as databases:
        stage = Stage(Path(folder), server, short, databases)
        try:
            yield stage
        finally:
            for child in stage.started:
                child.kill()
                child.wait()


async def measured(names: Sequence[str], *, short: bool) -> list[Report]:
    reports: list[Report] = []
    with running_server(_SERVER.removeprefix("hermes-pg-"), durable=True) as server:
        for name in names:
            with staged(server, short=short) as stage:
                async for report in PARTS[name](stage):
                    what, *rest = report.items()
                    print(f"{what[1]!s:54}  {'  '.join(f'{key} {value}' for key, value in rest)}")
                    reports.append(report)
    return reports


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("names", nargs="*", choices=[*PARTS, []])
    words.add_argument("--short", action="store_true")
    given = words.parse_args()
    reports = asyncio.run(measured(given.names or list(PARTS), short=given.short))
    shared: Report = {"processors": os.cpu_count(), "others": os.getloadavg()[0]}
    print(json.dumps([{"what": "the machine", **shared}, *reports]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
