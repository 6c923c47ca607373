"""A search among many messages over a primary-key lookup, as ratios within one run.

    python -m bench.recall [sqlite] [postgres] [--messages N] [--rounds N]

The words are spread as in a language: few stand everywhere, most are rare. One lane has a third of
all messages, the rest is spread over many. Prints a table, then one line of JSON. The exit status
is 1 when a bar is missed.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import statistics
import string
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass

from tests.contract.server import fresh_database, running_server

from bench.stores import sqlite_home
from hermes.core import events as e
from hermes.core.ids import MessageId, NodeId, SessionId, SessionKey, TurnId, chat_key
from hermes.core.messages import Address, Inbound, Line, Person
from hermes.core.projection import commit_of
from hermes.core.recall import EVERYTHING, Scope, scope_of
from hermes.core.session import ref
from hermes.core.store import Fence, Store
from hermes.stores.postgres import open_postgres
from hermes.stores.sqlite import open_sqlite

LIMIT = 50.0
LANES = 200
PORTION = 50  # rows of one commit
VOCABULARY = 30_000
LOOKUPS = 20  # of the unit, for each search
HITS = 10  # what a chat or a model gets
NODE = NodeId("bench")


@dataclass(frozen=True)
class Bar:
    store: str
    name: str
    ratio: float
    limit: float
    detail: str

    @property
    def holds(self) -> bool:
        return self.ratio <= self.limit


@dataclass(frozen=True)
class Ask:
    name: str
    question: str
    scope: Scope = EVERYTHING


class Language:
    """Words by rank: the nth is n times rarer than the first."""

    def __init__(self, seed: int = 1) -> None:
        self._dice = random.Random(seed)  # noqa: S311 (words, not secrets)
        self.words = [self._word() for _ in range(VOCABULARY)]
        self._weights = list(itertools.accumulate(1 / n for n in range(1, VOCABULARY + 1)))

    def text(self) -> str:
        count = self._dice.randint(4, 70)
        return " ".join(self._dice.choices(self.words, cum_weights=self._weights, k=count))

    def lane(self) -> int:
        return 0 if self._dice.random() < 1 / 3 else self._dice.randrange(1, LANES)

    def _word(self) -> str:
        return "".join(self._dice.choices(string.ascii_lowercase, k=self._dice.randint(2, 10)))


def lane(number: int) -> SessionKey:
    return chat_key("telegram", "dm", f"{number}")


async def filled(store: Store, language: Language, messages: int) -> TurnId:
    """Returns a turn to look up."""
    await store.nodes.join(NODE)
    turn, at, left = TurnId("turn"), 1_000.0, messages
    while left > 0:
        number, size = language.lane(), min(PORTION, left)
        key, address = lane(number), Address(platform="telegram", chat=f"{number}")
        before = tuple(
            Line(role="assistant", text=language.text(), at=at + n) for n in range(size - 1)
        )
        at += size
        inbound = Inbound(
            id=MessageId(f"{left}"),
            account="bench",
            session=key,
            sender=Person(id="ann"),
            address=address,
            text=language.text(),
            at=at,
            before=before,
        )
        await store.journal.accept(inbound, opens=SessionId(f"conversation-{number}"))
        [claim] = await store.journal.claim(NODE, limit=1, only=key)
        session, turn = await store.journal.load(key), TurnId(f"turn-{left}")
        events = (
            e.TurnStarted(turn, (ref(inbound),), claim.epoch, at),
            e.TurnEnded(turn, "answered", at),
        )
        commit = commit_of(session, events, snapshot=True, rests=True)
        await store.journal.append(commit, fence=Fence(NODE, claim.epoch))
        left -= size
    return turn


def asks(language: Language) -> list[Ask]:
    words = language.words
    common, next_, usual, rare = words[0], words[1], words[300], words[20_000]
    alone = scope_of(lane(7))
    return [
        Ask("a common word", common),
        Ask("a usual word", usual),
        Ask("a rare word", rare),
        Ask("a word that is nowhere", "nowhereatall"),
        Ask("two common words", f"{common} {next_}"),
        Ask("a phrase of common words", f'"{common} {next_}"'),
        Ask("a common word, not another", f"{common} -{next_}"),
        Ask("a beginning of three letters", f"{usual[:3]}*"),
        Ask("a common word in a small chat", common, alone),
        Ask("a rare word in a small chat", rare, alone),
        Ask("a common word in the big chat", common, scope_of(lane(0))),
        Ask("a common word in no chat", common, scope_of(lane(LANES + 1))),
        Ask("the five most common words", " ".join(words[:5])),
        Ask("300 words with OR between them", " OR ".join(words[100:400])),
        Ask("the 300 most common words", " ".join(words[:300])),
    ]


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def measured(store: Store, name: str, messages: int, rounds: int) -> AsyncIterator[Bar]:
    try:
        language = Language()
        turn = await filled(store, language, messages)
        began = time.perf_counter()
        notes: tuple[str, ...] = ("not read yet",)
        while notes:
            notes = (await store.library.search("anything", scope=EVERYTHING, limit=1)).notes
        sys.stdout.write(f"{name}: {messages:,} rows read in {time.perf_counter() - began:.1f} s\n")
        for ask in asks(language):
            yield await _bar(store, name, ask, turn, rounds)
    finally:
        await store.upkeep.close()


async def _bar(store: Store, name: str, ask: Ask, turn: TurnId, rounds: int) -> Bar:
    count, unit, ours = 0, list[float](), list[float]()

    async def lookups() -> None:
        for _ in range(LOOKUPS):
            assert await store.library.turn(turn) is not None

    async def search() -> None:
        nonlocal count
        found = await store.library.search(ask.question, scope=ask.scope, limit=HITS)
        count = len(found.hits)

    await search()
    for _ in range(rounds):
        unit.append(await seconds(lookups) / LOOKUPS)
        ours.append(await seconds(search))
    slow, quick = statistics.median(ours), statistics.median(unit)
    detail = f"{slow * 1e3:.2f} ms / {quick * 1e3:.3f} ms, {count} hits"
    return Bar(name, ask.name, slow / quick, LIMIT, detail)


async def bars(stores: list[str], messages: int, rounds: int) -> AsyncIterator[Bar]:
    if "sqlite" in stores:
        with sqlite_home() as path:
            store = await open_sqlite(path, clock=time.time)
            async for bar in measured(store, "sqlite", messages, rounds):
                yield bar
    if "postgres" in stores:
        run = f"bench-{os.getpid()}"
        with running_server(run) as server, fresh_database(server) as url:
            store = await open_postgres(url, clock=time.time)
            async for bar in measured(store, "postgres", messages, rounds):
                yield bar


async def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    wanted = parser.parse_args(arguments)
    found: list[Bar] = []
    async for bar in bars(wanted.stores, wanted.messages, wanted.rounds):
        sign = "holds " if bar.holds else "MISSED"
        line = f"{sign}  {bar.ratio:8.2f}  <= {bar.limit:<5} {bar.store:9} {bar.name}"
        sys.stdout.write(f"{line}  ({bar.detail})\n")
        sys.stdout.flush()
        found.append(bar)
    sys.stdout.write(json.dumps([{**asdict(bar), "holds": bar.holds} for bar in found]) + "\n")
    return 0 if all(bar.holds for bar in found) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
