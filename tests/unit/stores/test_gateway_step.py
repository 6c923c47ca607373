"""A file of the first schema becomes one of the second, and says the same as one made anew."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import apsw
from tests.contract.places import A, B, Place, begin, conversation, lane, message, reply
from tests.contract.test_store_histories import play

from hermes.core import events as e
from hermes.core.ids import SessionId
from hermes.core.outbox import OutboxRow
from hermes.core.store import Store
from hermes.stores.sqlite.library import ABANDONED, BUSY, OUTBOX, SESSIONS

FIRST = "0001_initial.sql"
TABLES = (
    "sessions",
    "epochs",
    "journal",
    "inbox",
    "snapshots",
    "conversations",
    "messages",
    "indexed",
    "turns",
    "outbox",
    "nodes",
)


@dataclass(frozen=True)
class Shown:
    sessions: object
    conversations: object
    counts: object
    running: object
    due: Sequence[OutboxRow]
    loaded: object


async def shown(store: Store) -> Shown:
    rows = await store.library.sessions(limit=99)
    return Shown(
        sessions=rows,
        conversations=await store.library.conversations(None, limit=99),
        counts=await store.library.counts(),
        running=await store.library.in_phase("running", limit=99),
        due=await store.outbox.due(["telegram"], now=1e7, limit=999),
        loaded=[await store.journal.load(row.key) for row in rows],
    )


def as_first(path: Path, target: Path) -> None:
    """What the first schema would have kept of this file."""
    folder = resources.files("hermes.stores.sqlite") / "sql"
    old = apsw.Connection(str(target))
    old.execute((folder / FIRST).read_text(encoding="utf-8"))
    old.execute("PRAGMA user_version = 1")
    old.execute("ATTACH ? AS new", (str(path),))
    for table in TABLES:
        names = ", ".join(row[1] for row in old.execute(f"PRAGMA main.table_info({table})"))
        old.execute(f"DELETE FROM main.{table}")  # noqa: S608 (our own names)
        fill = f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}"  # noqa: S608
        old.execute(fill)
    old.close()


async def test_a_file_of_the_first_schema_shows_what_a_new_one_shows(tmp_path: Path) -> None:
    new, target = Place(str(tmp_path / "new.db")), tmp_path / "old.db"
    store = await new.open()
    await store.nodes.join(A)
    await store.nodes.join(B)
    for seed in range(8):
        await play(store, random.Random(seed), f"s{seed}")
    owner = await begin(store, A, "titled")
    await owner.start("titled")
    await owner.finish("titled")
    for number in range(3):
        await owner.write(e.FactSet("title", f"Title {number}", 5.0))
        await owner.write(e.SessionReset(SessionId(f"titled-{number}"), "asked", 6.0))
    for node in (A, B):
        await store.journal.release([lane("s3")], node=node)
    assert await store.library.delete(lane("s3"))
    before = await shown(store)
    await new.close()
    as_first(tmp_path / "new.db", target)
    old = Place(str(target))
    store = await old.open()
    assert await shown(store) == before
    assert (tmp_path / "old.db.schema1.bak").exists()
    assert await store.upkeep.check() == []
    await store.library.rebuild()
    assert await shown(store) == before
    await store.outbox.pause("telegram", "titled", until=1e7 + 60)
    waiting = [row.reply.address.chat for row in before.due]
    found = await store.outbox.due(["telegram"], now=1e7, limit=999)
    assert [row.reply.address.chat for row in found] == [c for c in waiting if c != "titled"]
    await old.close()


async def test_an_empty_file_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    new = Place(str(tmp_path / "new.db"))
    await new.open()
    await new.close()
    as_first(tmp_path / "new.db", tmp_path / "old.db")
    old = Place(str(tmp_path / "old.db"))
    stores: Sequence[Store] = await asyncio.gather(*(old.open() for _ in range(4)))
    assert (await stores[0].library.counts()).sessions == 0
    assert (await stores[1].journal.accept(message(0), opens=conversation())).fresh
    assert (await stores[2].library.counts()).sessions == 1
    await old.close()


async def test_a_glance_reads_only_what_is_busy_or_open(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "hermes.db"))
    store = await place.open()
    await store.nodes.join(A)
    for number in range(5):
        owner = await begin(store, A, f"c{number}")
        await owner.start(f"c{number}")
    assert (await store.library.counts()).running == 5
    assert await store.outbox.rows(reply("c1").session, limit=5) == []
    await place.close()
    db = apsw.Connection(place.name)
    plans = [str(row[3]) for sql in (BUSY, OUTBOX, ABANDONED, SESSIONS) for row in plan(db, sql)]
    scans = [step for step in plans if step.startswith("SCAN") and "INDEX" not in step]
    assert scans == ["SCAN missing"]
    assert any("sessions_busy" in step for step in plans)
    db.close()


def plan(db: apsw.Connection, sql: str) -> list[tuple[object, ...]]:
    return db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
