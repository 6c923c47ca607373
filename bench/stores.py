"""How fast the stores are, as ratios within one run: they mean the same on any machine.

    python -m bench.stores [sqlite] [postgres] [--rounds N]

Prints a table, then one line of JSON. The exit status is 1 when a bar is missed. PostgreSQL is a
real server with real flushes, started for this run from the wheel that the tests use. What is
appended is made beforehand: the store is measured, not the fold.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path

from tests.contract.server import fresh_database, running_server

from hermes.core import events as e
from hermes.core.ids import MessageId, NodeId, SessionId, SessionKey, TurnId, session_key
from hermes.core.messages import Address, Call, Effect, Inbound, Outcome, Person
from hermes.core.projection import Commit, commit_of
from hermes.core.session import Session, Turn, call_id
from hermes.core.store import Fence, Store
from hermes.stores.postgres import open_postgres
from hermes.stores.sqlite import open_sqlite

SESSIONS = 64
ALONE = 150  # events of one session, each with its own flush
TOGETHER = 40  # events of each of the many sessions
SHORT, LONG = 100, 10_000
SAMPLES = 60
NODE = NodeId("bench")
RESULT = "drwxr-xr-x 2 ann ann 4096 Jan 1 12:00 notes\n-rw-r--r-- 1 ann ann 812 todo.txt\n" * 3


@dataclass(frozen=True)
class Bar:
    """A ratio and what it must be: at least, or at most."""

    store: str
    name: str
    ratio: float
    limit: float
    at_least: bool
    detail: str

    @property
    def holds(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


@dataclass
class Worker:
    """Owns one session and writes to it, an event at a time, as a turn with many calls does."""

    store: Store
    fence: Fence
    session: Session

    def __post_init__(self) -> None:
        self._kinds = cycle((self._answered, self._started, self._ended))

    async def begin(self, event: e.Event) -> None:
        await self.append([self._next(event)])

    def make(self, count: int) -> list[Commit]:
        """The next events of a turn that calls a tool again and again, one event a commit."""
        return [self._next(next(self._kinds)()) for _ in range(count)]

    async def append(self, commits: Iterable[Commit]) -> None:
        for commit in commits:
            await self.store.journal.append(commit, fence=self.fence)

    async def grow(self, position: int) -> None:
        """Up to this position, many events a commit, with a snapshot at the end."""
        while self.session.position < position:
            more = min(250, position - self.session.position)
            facts = [e.FactSet("note", str(number), 2.0) for number in range(more)]
            last = self.session.position + more >= position
            await self.append([self._next(*facts, snapshot=last)])

    def _next(self, *events: e.Event, snapshot: bool = False) -> Commit:
        commit = commit_of(self.session, events, snapshot=snapshot)
        self.session = commit.after
        return commit

    def _answered(self) -> e.Event:
        turn = self._turn()
        call = Call(id=call_id(turn, 1), tool="terminal", arguments='{"command": "ls -l"}')
        return e.ModelAnswered(turn=turn.id, at=2.0, text="Let me look.", calls=(call,))

    def _started(self) -> e.Event:
        turn = self._turn()
        call = turn.tracks[0].call.id
        return e.CallStarted(turn.id, call, Effect.READ, self.fence.epoch, 2.0)

    def _ended(self) -> e.Event:
        turn = self._turn()
        return e.CallEnded(turn.id, turn.tracks[0].call.id, Outcome.OK, RESULT, 2.0)

    def _turn(self) -> Turn:
        if self.session.turn is None:
            raise LookupError("the turn has ended")
        return self.session.turn


async def _all(works: Iterable[Awaitable[object]]) -> None:
    await asyncio.gather(*works)


async def worker(store: Store, name: str) -> Worker:
    key = session_key("bench", "dm", name)
    inbound = Inbound(
        id=MessageId(name),
        account="bench",
        session=key,
        sender=Person(id="ann"),
        address=Address(platform="bench", chat=name),
        text="What is in my folder?",
        at=1.0,
    )
    await store.journal.accept(inbound, opens=SessionId(f"conversation-{name}"))
    [claim] = await store.journal.claim(NODE, limit=1, only=key)
    made = Worker(store, Fence(NODE, claim.epoch), await store.journal.load(key))
    started = e.TurnStarted(TurnId(f"turn-{name}"), (f"bench#{name}",), claim.epoch, 2.0)
    await made.begin(started)
    return made


async def seconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def group_commit(store: Store, name: str, rounds: int, limit: float) -> Bar:
    """Events a second from many sessions at once, over one session that waits for each flush."""
    workers = [await worker(store, f"many-{number}") for number in range(SESSIONS)]
    ratios, alone, together = list[float](), list[float](), list[float]()

    async def run(count: int) -> float:
        made = [(one, one.make(count)) for one in workers]
        return await seconds(_all(one.append(each) for one, each in made))

    await run(3)
    for _ in range(rounds):
        commits = workers[0].make(ALONE)
        alone.append(ALONE / await seconds(workers[0].append(commits)))
        together.append(SESSIONS * TOGETHER / await run(TOGETHER))
        ratios.append(together[-1] / alone[-1])
    detail = (
        f"{statistics.median(together):,.0f} events/s from {SESSIONS} sessions, "
        f"{statistics.median(alone):,.0f} one by one"
    )
    title = f"group commit, {SESSIONS} sessions"
    return Bar(name, title, statistics.median(ratios), limit, at_least=True, detail=detail)


async def append_cost(store: Store, name: str, rounds: int) -> Bar:
    """The same append in a short and in a long session, in turns."""
    short, long = await worker(store, "append-short"), await worker(store, "append-long")
    await short.grow(SHORT)
    await long.grow(LONG)
    first, last = list[float](), list[float]()
    for _ in range(SAMPLES * rounds // 2):
        for one, times in ((short, first), (long, last)):
            commits = one.make(1)
            times.append(await seconds(one.append(commits)))
    return _cost(name, f"append event {LONG:,} / event {SHORT}", last, first, 1.5)


async def load_cost(store: Store, name: str, rounds: int) -> Bar:
    """Loading a long and a short session from their snapshots, in turns."""
    keys: list[SessionKey] = []
    for title, position in (("load-short", SHORT), ("load-long", LONG)):
        one = await worker(store, title)
        await one.grow(position)
        keys.append(one.session.key)
    first, last = list[float](), list[float]()
    for _ in range(SAMPLES * rounds // 2):
        first.append(await seconds(store.journal.load(keys[0])))
        last.append(await seconds(store.journal.load(keys[1])))
    return _cost(name, f"load {LONG:,} events / {SHORT} events", last, first, 3.0)


def _cost(store: str, name: str, long: list[float], short: list[float], limit: float) -> Bar:
    ratio = statistics.median(long) / statistics.median(short)
    slow, quick = statistics.median(long) * 1e3, statistics.median(short) * 1e3
    return Bar(store, name, ratio, limit, at_least=False, detail=f"{slow:.2f} ms, {quick:.2f} ms")


async def measure(store: Store, name: str, rounds: int, group_limit: float) -> list[Bar]:
    try:
        await store.nodes.join(NODE)
        return [
            await group_commit(store, name, rounds, group_limit),
            await append_cost(store, name, rounds),
            await load_cost(store, name, rounds),
        ]
    finally:
        await store.upkeep.close()


@contextlib.contextmanager
def sqlite_home() -> Iterator[Path]:
    """On the disk of this checkout: a folder in memory flushes nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=Path(__file__).parent) as folder:
        yield Path(folder) / "hermes.db"


async def bars(stores: list[str], rounds: int) -> AsyncIterator[Bar]:
    if "sqlite" in stores:
        with sqlite_home() as path:
            store = await open_sqlite(path, clock=time.time)
            for bar in await measure(store, "sqlite", rounds, 15.0):
                yield bar
    if "postgres" in stores:
        run = f"bench-{os.getpid()}"
        with running_server(run, durable=True) as server, fresh_database(server) as url:
            store = await open_postgres(url, clock=time.time)
            for bar in await measure(store, "postgres", rounds, 15.0):
                yield bar


async def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args(arguments)
    found = [bar async for bar in bars(wanted.stores, wanted.rounds)]
    for bar in found:
        sign, verdict = ("≥" if bar.at_least else "≤"), ("ok" if bar.holds else "MISSED")
        line = f"{bar.store:9} {bar.name:36} {bar.ratio:6.2f}  {sign} {bar.limit:<5} {verdict:7}"
        sys.stdout.write(f"{line} {bar.detail}\n")
    sys.stdout.write(json.dumps([asdict(bar) for bar in found]) + "\n")
    return 0 if all(bar.holds for bar in found) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
