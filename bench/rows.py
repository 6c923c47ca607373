"""What is measured, one function a row: each gives figures of every program, rounds interleaved."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import matrix
from bench.asking import PLAIN, Long, effects, load, tool_text, visits
from bench.gated import Gate, GatedModel
from bench.peers import OURS
from bench.peers.base import Installed, Peer
from bench.running import Gateway, House, family_cpu_s, free_port, memory_of, run

ROOT = Path(__file__).parents[1]
QUESTION = "Please go on with the work."
SESSIONS = (1, 16, 64)
MESSAGES = (10, 200, 1000)
WINDOW = 10  # turns on either side of such a history's length
SOME = 5  # of these together are one figure
SETTLE_S = 5.0  # from ready to idle
SLOW_S = 15.0  # what takes longer is measured once
ROW_S = 420.0  # no other round is begun then
KILLS_S = 900.0  # nor of kills
VISITS_S = 60.0
READY_S = 120.0
MANY = 200
AT_A_TIME = 5
BYTES_A_TOKEN = 4  # about; the same for everybody
LIBRARIES = "asyncio, ssl, apsw, msgspec, httptools"  # to wait, TLS, SQLite, JSON, HTTP

Figures = dict[str, list[float]]
There = Mapping[str, tuple[Peer, Installed]]


@dataclass
class Field:
    """Everybody who takes part, and how thoroughly it is done."""

    house: House
    there: There
    rounds: int
    seconds: float
    history_s: float
    figures: dict[str, Figures] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    fates: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    now: str = ""  # which round it is
    slow: set[str] = field(default_factory=set)  # what took so long that once has to be enough

    def turns(self, count: int, within_s: float = ROW_S) -> Iterator[int]:
        """Rounds, one after the other, so that whoever watches knows which it is."""
        began = time.monotonic()
        for number in range(count):
            if number and time.monotonic() - began > within_s:
                print(f"  no time for more than {number} rounds", flush=True)
                return
            self.now = f"{number + 1} of {count}"
            yield number

    def add(self, name: str, **values: float) -> None:
        mine = self.figures.setdefault(name, {})
        for metric, value in values.items():
            mine.setdefault(metric, []).append(value)
        said = ", ".join(f"{metric} {value:.4g}" for metric, value in values.items())
        self.say(name, said)

    def say(self, name: str, text: str) -> None:
        print(f"  {self.now:>8}  {self.there[name][0].label:14} {text}", flush=True)

    def standing(self) -> Iterator[tuple[str, Peer, Installed]]:
        """Those who have not failed in this row, and do not take too long for another round."""
        for name, (peer, installed) in self.there.items():
            if name not in self.problems and f"{name} " not in self.slow:
                yield name, peer, installed

    @contextmanager
    def tried(self, name: str, what: str = "") -> Iterator[None]:
        """What goes wrong with one of them is said in its place, and the others go on."""
        began = time.monotonic()
        try:
            yield
            if time.monotonic() - began > SLOW_S:
                self.slow.add(f"{name} {what}")
        except (RuntimeError, TimeoutError, OSError, asyncio.IncompleteReadError) as problem:
            first = (str(problem) or type(problem).__name__).splitlines()[0][:300]
            self.problems[name] = first
            self.say(name, f"FAILED: {first}")

    def model(self) -> int:
        """One that answers at once, in a process of its own."""
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.model"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        )
        self.house.models.append(child)
        assert child.stdout is not None
        return int(child.stdout.readline())

    async def gateways(self, model: int) -> dict[str, Gateway]:
        """One of everybody, ready and at rest."""
        up: dict[str, Gateway] = {}
        for name, peer, installed in self.standing():
            with self.tried(name):
                ground = self.house.ground(model, port=free_port())
                up[name] = self.house.start(peer, installed, ground)
                await up[name].ready()
        await asyncio.sleep(SETTLE_S)
        return up


async def version(field: Field) -> None:
    for _ in field.turns(field.rounds * 3):
        for name, peer, installed in field.standing():
            with field.tried(name):
                spent = run(peer.version(installed), field.house.ground(0).home)
                field.add(name, wall_s=spent.wall_s, cpu_s=spent.cpu_s)


async def ask(field: Field) -> None:
    """The first question of a fresh home, then those of a home that is used already."""
    model = field.model()
    for _ in field.turns(field.rounds):
        for name, peer, installed in field.standing():
            with field.tried(name):
                ground = field.house.ground(model)
                for kind in ("first", "later"):
                    spent = run(peer.ask(installed, ground, QUESTION), ground.home)
                    wall, cpu = f"{kind}_wall_s", f"{kind}_cpu_s"
                    field.add(name, **{wall: spent.wall_s, cpu: spent.cpu_s})


async def gateway(field: Field) -> None:
    model = field.model()
    for _ in field.turns(field.rounds):
        for name, peer, installed in field.standing():
            with field.tried(name):
                ground = field.house.ground(model, port=free_port())
                here = field.house.start(peer, installed, ground)
                try:
                    ready_s = await here.ready()
                    cpu_s = here.cpu_s()
                    await asyncio.sleep(SETTLE_S)
                    idle = here.memory() / 1e6
                    field.add(name, ready_s=ready_s, ready_cpu_s=cpu_s, idle_mb=idle)
                finally:
                    here.kill()
        _floor(field)


def _floor(field: Field) -> None:
    """What our language takes with the libraries that any such program needs, and no code of ours:
    nothing that is written in it can be smaller."""
    if OURS.name not in field.there:
        return
    python = field.there[OURS.name][1].folder / "bin" / "python"
    words = [str(python), "-I", "-c", f"import {LIBRARIES}; print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        field.add(OURS.name, floor_s=family_cpu_s(bare.pid), floor_mb=memory_of(bare.pid) / 1e6)
        bare.kill()


async def turns(field: Field) -> None:
    """Closed loops: a session asks again as soon as it is answered. The model answers at once, so
    all of the latency is added."""
    up = await field.gateways(field.model())
    for number in field.turns(field.rounds):
        for sessions in SESSIONS:
            for kind in ("plain", "tool"):
                for name, here in up.items():
                    what = f"{kind}{sessions}"
                    if name not in field.problems and f"{name} {what}" not in field.slow:
                        with field.tried(name, what):
                            await _one_load(field, name, here, kind, sessions, number)
    for here in up.values():
        here.kill()


async def _one_load(
    field: Field, name: str, here: Gateway, kind: str, sessions: int, number: int
) -> None:
    text = PLAIN if kind == "plain" else tool_text(here)
    label, before = f"{kind}{sessions}", effects(here)
    done = await load(
        here, f"{label}-{number}", sessions=sessions, seconds=field.seconds, text=text
    )
    if kind == "tool" and effects(here) - before < done.turns:
        raise RuntimeError(f"of {done.turns} commands {effects(here) - before} did their work")
    low = sorted(done.latencies_s)
    field.add(
        name,
        **{
            f"{label}_turns_s": done.turns_s,
            f"{label}_latency_s": statistics.median(low),
            f"{label}_p95_s": low[int(len(low) * 0.95)],
            f"{label}_cpu_s": done.cpu_s / done.turns,
        },
    )


async def history(field: Field) -> None:
    """One conversation from its first message on. They get longer side by side; what a turn costs
    is measured around some lengths, one program after the other."""
    up = await field.gateways(field.model())
    most = MESSAGES[-1] // 2 + WINDOW
    long = {name: Long(here, "long", most) for name, here in up.items()}
    for messages in MESSAGES:
        field.now = f"{messages}"
        first, last = max(messages // 2 - WINDOW, 1), messages // 2 + WINDOW
        await asyncio.gather(*(_grown(field, name, one, first) for name, one in long.items()))
        for name, one in long.items():
            if name not in field.problems and len(one.spent) >= first:
                with field.tried(name):
                    part = await one.turns(last - len(one.spent))
                    for at in range(0, len(part), SOME):
                        some = statistics.median(wall for wall, _ in part[at : at + SOME])
                        field.add(name, **{f"wall{messages}_s": some})
                    field.add(name, **{f"cpu{messages}_s": statistics.mean(c for _, c in part)})
    for name, one in long.items():
        one.close()
        up[name].kill()


async def _grown(field: Field, name: str, one: Long, turns: int) -> None:
    with field.tried(name):
        await one.turns(turns - len(one.spent), field.history_s)
        if len(one.spent) < turns:
            field.say(name, f"{2 * len(one.spent)} messages, then its time was over")


async def memory(field: Field) -> None:
    model = field.model()
    for _ in field.turns(field.rounds):
        for name, here in (await field.gateways(model)).items():
            with field.tried(name):
                idle = here.memory() / 1e6
                count = await visits(here, "many", sessions=MANY, wide=16, seconds=VISITS_S)
                field.add(name, idle_mb=idle, after_mb=here.memory() / 1e6, sessions=count)
            here.kill()


async def prompt(field: Field) -> None:
    """What is sent to the model with the first word of a fresh chat, beside that word."""
    for name, peer, installed in field.standing():
        with field.tried(name):
            async with GatedModel(Gate()) as model:
                ground = field.house.ground(model.port, port=free_port())
                here = field.house.start(peer, installed, ground)
                try:
                    await here.ready()
                    await visits(here, "fresh", sessions=1, wide=1, seconds=READY_S, wanted="")
                finally:
                    here.kill()
                request = model.requests[0]
            tools = request.get("tools", [])
            said = [one for one in request["messages"] if one["role"] == "system"]
            size = len(json.dumps(tools)) + len(json.dumps(said))
            field.add(name, tokens=size / BYTES_A_TOKEN, tools=len(tools))


async def crash(field: Field) -> None:
    """Every instant of everybody, so many at a time; there is much waiting in it. A turn may be
    lucky once, so each is tried several times."""
    free = asyncio.Semaphore(AT_A_TIME)

    async def one(name: str, peer: Peer, installed: Installed, instant: str) -> None:
        async with free:
            found = await matrix.case(field.house, peer, installed, instant)
            field.say(name, f"{instant:13} {matrix.told(found)}")
            field.fates.setdefault(name, []).append(matrix.as_json(found))

    everybody = list(field.standing())
    cases = [(*who, instant) for instant in matrix.INSTANTS for who in everybody]
    for _ in field.turns(field.rounds, within_s=KILLS_S):
        await asyncio.gather(*(one(*case) for case in cases))
    order = list(matrix.INSTANTS)
    for name, fates in field.fates.items():
        fates.sort(key=lambda fate: order.index(str(fate["instant"])))
        good = sum(bool(fate["faultless"]) for fate in fates)
        field.add(name, faultless=good, reached=sum(bool(fate["reached"]) for fate in fates))


Row = Callable[[Field], Awaitable[None]]
ROWS: Mapping[str, Row] = {
    "version": version,
    "ask": ask,
    "gateway": gateway,
    "turns": turns,
    "history": history,
    "memory": memory,
    "prompt": prompt,
    "crash": crash,
}
