"""What scheduled jobs cost, as ratios within one run: they mean the same on any machine.

    python -m bench.schedules [rest] [burst] [script] [calendar] [--short]

`rest`: a gateway with 10,000 jobs that are not due, compared with one that has none. `burst`: 1,000
jobs that are due in the same second; each must be accepted once, and how late is measured from
outside. `script`: a run without a model, compared with a turn that runs the same command.
`calendar`: the next due time of an expression. Prints a table, then one line of JSON. The exit
status is 1 when a bar is missed.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2

from bench.gateway import Bar, Process, Stage, Table, main
from bench.load import KEY, cpu_of, memory_of
from hermes.core.ids import MessageId, SessionId, session_key
from hermes.core.job_events import JobSet
from hermes.core.jobs import Job, job_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.schedule import Schedule, due_after
from hermes.core.store import Store
from hermes.stores.sqlite import open_sqlite

AT_ONCE = 200  # jobs that are written together
LEAD_S = 20.0  # before the burst, for the gateway to start
LATE_S = 120.0
POLL_S = 0.005


async def bar_rest(stage: Stage) -> AsyncIterator[Bar]:
    """Jobs that are not due against none."""
    count, seconds = (1_000, 10.0) if stage.short else (10_000, 60.0)
    model = stage.model()
    later = time.time() + 40 * 86_400
    empty = await stage.gateway(model)
    full = await stage.gateway(model, await _home(stage, count, lambda n: _daily(n, later)))
    await asyncio.sleep(10.0)  # what is done after a start is over by then
    before = {each.pid: cpu_of(each.pid) for each in (empty, full)}
    await asyncio.sleep(seconds)
    used = {each.pid: cpu_of(each.pid) - before[each.pid] for each in (empty, full)}
    minute = used[full.pid] * 60.0 / seconds
    detail = f"{used[full.pid]:.2f} s with {count:,} jobs, {used[empty.pid]:.2f} s without"
    yield Bar("CPU seconds a minute at rest", minute, 0.15, f"{detail}, in {seconds:.0f} s")
    more, less = memory_of(full.pid), memory_of(empty.pid)
    name = f"memory at rest with {count:,} jobs over none"
    yield Bar(name, more / less, 1.1, f"{more / 1e6:.0f} MB / {less / 1e6:.0f} MB")


async def bar_burst(stage: Stage) -> AsyncIterator[Bar]:
    """All due in one second: each is accepted once, and soon."""
    count = 200 if stage.short else 1_000
    due = float(int(time.time() + LEAD_S + count / 100))
    home = await _home(stage, count, lambda n: _once(n, due))
    await stage.gateway(stage.model(), home)
    if time.time() > due:
        raise RuntimeError("the gateway was ready too late; try again on a quieter machine")
    late = await asyncio.to_thread(_lateness, home / "hermes.db", due, count)
    twice = await _until_run(home, count)
    detail = f"{len(late)} of {count:,} accepted, {twice} twice"
    yield Bar(
        "occurrences that were lost or doubled", float(count - len(late) + twice), 0.0, detail
    )
    last = sorted(late)[min(int(len(late) * 0.99), len(late) - 1)] if late else LATE_S
    yield Bar("lateness of accepting, p99, seconds", last, 1.0, detail)
    unit = await _stored(stage, count)
    detail = f"{last:.2f} s / {unit:.2f} s"
    yield Bar(
        f"the same over storing {count:,} messages and nothing else", last / unit, 5.0, detail
    )


async def bar_script(stage: Stage) -> AsyncIterator[Bar]:
    """A run without a model: what the gateway itself needs for it."""
    runs = 20 if stage.short else 100
    home = Path(tempfile.mkdtemp(dir=stage.folder))
    (home / "scripts").mkdir()
    (home / "scripts" / "hello.sh").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    (home / "scripts" / "hello.sh").chmod(0o700)
    here = await stage.gateway(stage.model(), home)
    body = {"schedule": "@yearly", "script": "hello.sh", "no_agent": True, "deliver": "none"}
    async with _client(here) as http:
        job = (await http.post("/v1/jobs", json=body)).json()["id"]
        await _run_script(http, job, 3)
        before = cpu_of(here.pid)
        await _run_script(http, job, runs)
        each = (cpu_of(here.pid) - before) / runs
        done = (await http.get(f"/v1/jobs/{job}/history?limit=1")).json()[0]
    detail = f"{each * 1000:.1f} ms of the gateway's CPU; the last one is {done['state']}"
    yield Bar("CPU seconds of a run without a model", each, 0.03, detail)


async def bar_calendar(stage: Stage) -> AsyncIterator[Bar]:
    """The rarest expression against the plainest, and that against a second."""
    rounds = 200 if stage.short else 2_000
    plain = _timed(_cron("0 7 * * MON-FRI"), rounds)
    rare = _timed(_cron("0 0 * 2 MON#5"), max(rounds // 20, 5))
    yield Bar("seconds of the rarest expression", rare, 0.1, f"{rare * 1e3:.2f} ms")
    yield Bar("seconds of a plain expression", plain, 0.001, f"{plain * 1e6:.0f} µs")


BARS: Table = {"rest": bar_rest, "burst": bar_burst, "script": bar_script, "calendar": bar_calendar}


def _timed(schedule: Schedule, rounds: int) -> float:
    began = time.process_time()
    for n in range(rounds):
        due_after(schedule, 1.8e9 + n * 3_600)
    return (time.process_time() - began) / rounds


def _cron(text: str) -> Schedule:
    return Schedule(text=text, kind="cron", zone="Europe/Paris", anchor=0.0, cron=text)


def _daily(number: int, later: float) -> Schedule:
    at = later + number
    return Schedule(text="every 1d", kind="interval", zone="UTC", anchor=at, step=86_400.0)


def _once(_number: int, at: float) -> Schedule:
    return Schedule(text="at", kind="once", zone="UTC", anchor=at - 60.0, at=float(int(at)))


async def _home(stage: Stage, count: int, schedule: Callable[[int], Schedule]) -> Path:
    """Return a home with so many jobs, written as the acts write them."""
    home = Path(tempfile.mkdtemp(dir=stage.folder))
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        await asyncio.gather(*(_write(store.jobs.change, n, schedule(n)) for n in numbers))
    await store.upkeep.close()
    return home


async def _write(change: Callable[..., object], number: int, schedule: Schedule) -> None:
    job = Job(
        id=f"bench{number:05}",
        name=f"bench {number}",
        schedule=schedule,
        prompt="Say hello.",
        deliver=("none",),
        created_at=time.time(),
    )
    made = JobSet(job, "bench", time.time(), SessionId(f"conversation-{number:013}"))
    await change(job_key(job.id), made, seen=0)  # type: ignore[misc]


def _lateness(file: Path, due: float, count: int) -> list[float]:
    """Watch the inbox: how late each occurrence was there, at most."""
    late: list[float] = []
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as store:
        while len(late) < count and time.time() < due + LATE_S:
            asked = "SELECT count(*) FROM inbox WHERE account = 'schedule'"
            (found,) = store.execute(asked).fetchone()
            late += [max(time.time() - due, 0.0)] * (found - len(late))
            time.sleep(POLL_S)
    return late


async def _stored(stage: Stage, count: int) -> float:
    """How long a store alone takes for as many messages, as many at once."""
    store = await open_sqlite(Path(tempfile.mkdtemp(dir=stage.folder)) / "unit.db", clock=time.time)
    began = time.monotonic()
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        await asyncio.gather(*(_message(store, n) for n in numbers))
    took = time.monotonic() - began
    await store.upkeep.close()
    return took


async def _message(store: Store, number: int) -> None:
    said = Inbound(
        id=MessageId(f"m{number}"),
        account="bench",
        session=session_key("bench", "dm", f"s{number}"),
        sender=Person(id="ann"),
        address=Address(platform="bench", chat=f"s{number}"),
        text="Say hello.",
        at=time.time(),
    )
    await store.journal.accept(said, opens=SessionId(f"conversation-{number}"))


async def _until_run(home: Path, count: int) -> int:
    """Wait until every job has run; return how many ran more than once."""
    asked = "SELECT count(*), count(DISTINCT session) FROM inbox WHERE account = 'schedule'"
    with sqlite3.connect(f"file:{home / 'hermes.db'}?mode=ro", uri=True) as store:
        found, sessions = store.execute(asked).fetchone()
    assert sessions <= count
    return int(found - sessions)


def _client(here: Process) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {KEY}"}
    base = f"http://127.0.0.1:{here.port}"
    return httpx2.AsyncClient(headers=headers, base_url=base, timeout=60.0, verify=False)


async def _run_script(http: httpx2.AsyncClient, job: str, runs: int) -> None:
    """One after the other: a job's runs do not overlap."""
    for _ in range(runs):
        started = (await http.post(f"/v1/jobs/{job}/run")).json()["run"]
        assert started
        while True:
            latest = (await http.get(f"/v1/jobs/{job}/history?limit=1")).json()
            if latest and latest[0]["ended"]:
                break
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(BARS, __doc__))
