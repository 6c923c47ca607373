"""Other agents beside ours, on the same work and machine: turns a second, CPU a turn, idle memory.

    python -m bench.field [--hermes-agent PYTHON] [--nanobot PYTHON] [--install] [--rounds N]

PYTHON is the interpreter of an environment that holds the package (and aiohttp, which both need for
their HTTP servers); `--install` makes such environments in a folder that is deleted at the end.
Each agent is one process that serves many sessions over HTTP, with its default settings but for the
model and, where it has one, its limit of requests at a time. The model answers at once. All agents
are up; one at a time has work, in turns: ours, theirs, ours, theirs. The clients are the same.
Prints each run, then the medians, then one line of JSON. The exit status is 1 when a bar is missed.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.gateway import Process, Stage, ready, staged
from bench.load import KEY, Load, cpu_of, memory_of
from bench.model import ANSWER

SESSIONS = 64
OUR_TURNS = 30  # in each session; a slow agent's are fewer
ROUNDS = 3
SETTLE_S = 5.0  # from ready to idle
RUN_S_MAX = 900.0
LONG_KEY = "0f6b27c41d9e4c58a3b7"  # some refuse to start with a short one
SAID = {"messages": [{"role": "user", "content": "Please go on with the work."}]}

Words = tuple[str, ...]


@dataclass(frozen=True)
class Other:
    """An agent of the field: how it is installed, set up, started and asked."""

    name: str
    packages: Words
    turns_max: int  # in each session and run: it takes its time
    least: float  # how many times its turns a second are ours
    prepare: Callable[[Path, int, int], tuple[Words, dict[str, str]]]
    body: Callable[[str], dict[str, object]]
    key: str = LONG_KEY


@dataclass
class Foreign(Process):
    """Started as the leader of a group, so that what it has started ends with it."""

    def kill(self) -> None:
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


@dataclass(frozen=True)
class Agent:
    name: str
    process: Process
    turns: int
    key: str
    body: Callable[[str], dict[str, object]]

    async def run(self, name: str, sessions: int = SESSIONS, turns: int = 0) -> Load:
        """`turns` in each of these sessions at once, every answer checked."""
        turns, port, pid = turns or self.turns, self.process.port, self.process.pid
        before, began = family_cpu(pid), time.monotonic()
        async with asyncio.timeout(RUN_S_MAX):
            await asyncio.gather(
                *(self._client(port, f"{name}{n}", turns) for n in range(sessions))
            )
        return Load(sessions * turns, time.monotonic() - began, family_cpu(pid) - before)

    async def _client(self, port: int, session: str, turns: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps(self.body(session)).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"authorization: Bearer {self.key}\r\n"
            f"content-type: application/json\r\nx-hermes-session-id: {session}\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        ).encode()
        for _ in range(turns):
            writer.write(head + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            at = answer.index(b"content-length:")
            text = await reader.readexactly(int(answer[at + 15 :].split(b"\r\n", 1)[0]))
            if ANSWER.encode() not in text:
                raise RuntimeError(f"{self.name} did not answer: {text[:300]!r}")
        writer.close()


@dataclass
class Match:
    """All runs of one agent beside ours, and what they come to."""

    other: Other
    ours: list[Load] = field(default_factory=list)
    theirs: list[Load] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        both = zip(self.ours, self.theirs, strict=True)
        return [mine.turns_s / their.turns_s for mine, their in both]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def holds(self) -> bool:
        return self.ratio >= self.other.least


def _hermes_agent(home: Path, port: int, model: int) -> tuple[Words, dict[str, str]]:
    section = {"provider": "custom", "base_url": f"http://127.0.0.1:{model}/v1", "default": "m"}
    settings = {
        "model": {**section, "api_key": LONG_KEY, "context_length": 200_000},
        "gateway": {"api_server": {"max_concurrent_runs": 0}},  # no limit; 10 otherwise
    }
    (home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    api = {"API_SERVER_ENABLED": "true", "API_SERVER_KEY": LONG_KEY, "API_SERVER_PORT": str(port)}
    return ("hermes_cli.main", "gateway", "run"), {**api, "HERMES_HOME": str(home)}


def _nanobot(home: Path, port: int, model: int) -> tuple[Words, dict[str, str]]:
    defaults = {"provider": "custom", "model": "m", "workspace": str(home / "workspace")}
    custom = {"apiKey": LONG_KEY, "apiBase": f"http://127.0.0.1:{model}/v1"}
    settings = {"agents": {"defaults": defaults}, "providers": {"custom": custom}}
    file = home / "config.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    return ("nanobot", "serve", "--port", str(port), "--config", str(file)), {}


HERMES_AGENT = Other(
    name="Hermes Agent 0.19.0",
    packages=("hermes-agent==0.19.0", "aiohttp==3.14.1"),
    turns_max=2,
    least=100.0,
    prepare=_hermes_agent,
    body=lambda _: {**SAID, "model": "hermes"},
)
NANOBOT = Other(
    name="nanobot 0.3.5",
    packages=("nanobot-ai[api]==0.3.5",),
    turns_max=5,
    least=50.0,
    prepare=_nanobot,
    body=lambda session: {**SAID, "model": "m", "session_id": session},
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(pid: int) -> Iterator[int]:
    """A process and those it has started, as far as they are there."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text(encoding="ascii").split():
            yield from family(int(child))


def family_cpu(pid: int) -> float:
    """Seconds of processor time, of a process, its threads and its children, alive or gone."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    gone = (int(stat[13]) + int(stat[14])) / 100.0
    return gone + sum(cpu_of(one) for one in family(pid))


def family_memory(pid: int) -> int:
    return sum(memory_of(one) for one in family(pid))


def installed(folder: Path, packages: Words) -> str:
    """The interpreter of a new environment that holds these."""
    where = Path(tempfile.mkdtemp(dir=folder))
    subprocess.run([sys.executable, "-m", "venv", str(where)], check=True)
    python = str(where / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


async def started(stage: Stage, other: Other, python: str, model: int) -> Agent:
    home, port = Path(tempfile.mkdtemp(dir=stage.folder)), free_port()
    words, extra = other.prepare(home, port, model)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    child = subprocess.Popen(
        [python, "-m", *words],
        env={**kept, "HOME": str(home), **extra},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=home,
        start_new_session=True,
    )
    process = Foreign(child, home, port)
    stage.started.append(process)
    await ready(port)
    return Agent(other.name, process, other.turns_max, other.key, other.body)


async def measured(stage: Stage, pythons: list[tuple[Other, str]], rounds: int) -> list[Match]:
    model = stage.model()
    ours = Agent(
        "ours", await stage.gateway(model), OUR_TURNS, KEY, lambda _: SAID | {"model": "m"}
    )
    theirs = [await started(stage, other, python, model) for other, python in pythons]
    await asyncio.sleep(SETTLE_S)
    for agent in (ours, *theirs):
        idle = family_memory(agent.process.pid)
        await agent.run("warm", sessions=8, turns=2)
        warm = family_memory(agent.process.pid)
        print(f"{agent.name:22} {idle / 1e6:6.0f} MB idle, {warm / 1e6:.0f} MB after 16 turns")
    matches = [Match(other) for other, _ in pythons]
    for n in range(rounds):
        for match, agent in zip(matches, theirs, strict=True):
            match.ours.append(await ours.run(f"{match.other.packages[0][:3]}{n}-"))
            shown(ours.name, match.ours[-1])
            match.theirs.append(await agent.run(f"run{n}-"))
            shown(agent.name, match.theirs[-1])
    return matches


def shown(name: str, load: Load) -> None:
    cpu = load.cpu_turn_s * 1000
    print(f"{name:22} {load.turns_s:8.1f} turns/s {cpu:8.2f} ms of CPU a turn, {load.turns} turns")


def told(match: Match) -> dict[str, object]:
    sides = {"ours": match.ours, "theirs": match.theirs}
    runs = {
        side: [{"turns_s": run.turns_s, "cpu_turn_s": run.cpu_turn_s} for run in loads]
        for side, loads in sides.items()
    }
    least, name = match.other.least, match.other.name
    return {"name": name, "ratio": match.ratio, "limit": least, "holds": match.holds, **runs}


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("--hermes-agent", metavar="PYTHON")
    words.add_argument("--nanobot", metavar="PYTHON")
    words.add_argument("--install", action="store_true")
    words.add_argument("--rounds", type=int, default=ROUNDS)
    given = words.parse_args()
    with staged(short=False) as stage:
        pythons: list[tuple[Other, str]] = []
        for other, path in ((HERMES_AGENT, given.hermes_agent), (NANOBOT, given.nanobot)):
            if path or given.install:
                pythons.append((other, path or installed(stage.folder, other.packages)))
        if not pythons:
            words.error("name an environment, or say --install")
        matches = asyncio.run(measured(stage, pythons, given.rounds))
    for match in matches:
        sign, cpu = "holds " if match.holds else "MISSED", _times(match)
        spread = f"{min(match.ratios):.0f} to {max(match.ratios):.0f}"
        line = (
            f"{sign}  {match.ratio:7.1f}  >= {match.other.least:<5} turns/s over {match.other.name}"
        )
        print(f"{line} ({spread}; CPU a turn {cpu:.0f} times less)")
    print(json.dumps([told(match) for match in matches]))
    return 0 if all(match.holds for match in matches) else 1


def _times(match: Match) -> float:
    both = zip(match.ours, match.theirs, strict=True)
    return statistics.median(their.cpu_turn_s / mine.cpu_turn_s for mine, their in both)


if __name__ == "__main__":
    sys.exit(main())
