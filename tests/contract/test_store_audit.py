"""The record of what was done: sealed in the commit of it, and whoever touches it is found out."""

import asyncio
from collections.abc import Mapping

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import json

from hermes.core import events as e
from hermes.core.audit import AuditEntry, AuditHead, Sealed, entry
from hermes.core.errors import Fenced
from hermes.core.projection import commit_of
from hermes.core.store import Fence, Store
from hermes.stores import seals
from tests.contract import approvals
from tests.contract.approvals import ask, known
from tests.contract.kids import kid
from tests.contract.places import KEY, LEASE_S, A, Place, begin, lane
from tests.contract.surgery import forge, run

OTHER_KEY = bytes(range(32))


def written(number: int, at: float | None = None) -> AuditEntry:
    return entry("noted", float(number) if at is None else at, number=number, who="telegram:ann")


async def write(store: Store, count: int) -> None:
    for number in range(1, count + 1):
        await store.audit.write([written(number)])


async def numbers(store: Store) -> list[int]:
    log = await store.audit.entries(limit=9_999)
    return [json.decode(row.entry.body)["number"] for row in log if row.entry.kind == "noted"]


# ── what is written ─────────────────────────────────────────────────────────────────────────────


async def test_entries_come_back_in_their_order_and_are_sound(store: Store) -> None:
    assert await store.audit.heads() == {}
    assert await store.audit.check({}) == []
    await store.audit.write([])
    await store.audit.write([written(1), written(2)])
    await store.audit.write([written(3)])
    log = await store.audit.entries(limit=9)
    assert [row.entry for row in log] == [written(1), written(2), written(3)]
    assert [row.seq for row in log] == [1, 2, 3]
    assert [row.entry for row in await store.audit.entries(limit=2)] == [written(2), written(3)]
    assert [row.entry for row in await store.audit.entries(limit=9, since=3.0)] == [written(3)]
    [(chain, head)] = (await store.audit.heads()).items()
    assert (chain, head.seq, head.seal) == (log[-1].chain, 3, log[-1].seal.hex())
    assert await store.audit.check({chain: head}) == []


async def test_entries_are_found_by_their_session(store: Store) -> None:
    await store.nodes.join(A)
    for chat in ("x", "y"):
        await ask(await begin(store, A, chat), chat, chat)
    await store.trust.admit(known("ann"))
    found = await store.audit.entries(limit=9, session=lane("x"))
    assert [json.decode(row.entry.body)["question"] for row in found] == ["x"]
    assert await store.audit.entries(limit=9, session=lane("none")) == []


async def test_aud_01_what_an_append_does_is_written_with_it_or_not_at_all(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    wanted = await ask(owner, "x", "q")
    log = await store.audit.entries(limit=9)
    assert [row.entry.kind for row in log] == ["asked"]
    answered = e.QuestionAnswered(
        owner.session.turn.id if owner.session.turn else "",
        wanted,
        True,
        owner.fence.epoch,
        5.0,
        by="a",
    )
    commit = commit_of(owner.session, (answered,))
    with pytest.raises(Fenced):
        await store.journal.append(commit, fence=Fence(A, owner.fence.epoch + 7))
    assert await store.audit.entries(limit=9) == log
    await store.journal.append(commit, fence=owner.fence)
    log = await store.audit.entries(limit=9)
    assert [row.entry.kind for row in log] == ["asked", "approved"]
    assert log[-1].entry == commit.audit[0]


async def test_a_turn_without_calls_writes_no_entry(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    await owner.start("x")
    await owner.finish("x")
    assert await store.audit.heads() == {}


async def test_many_at_once_from_two_processes_make_sound_chains(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    await asyncio.gather(*(stores[n % 2].audit.write([written(n)]) for n in range(60)))
    assert sorted(await numbers(stores[0])) == list(range(60))
    heads = await stores[1].audit.heads()
    assert sum(head.seq for head in heads.values()) == 60
    assert await stores[0].audit.check(heads) == []


async def test_aud_01_killed_at_any_moment_every_person_let_in_has_an_entry(place: Place) -> None:
    store = await place.open()
    for round_ in range(3):
        async with kid(place.name, lease_s=LEASE_S) as child:
            child.tell("let_in", round_ * 1_000)
            for _ in range(round_ + 1):
                assert await child.hear()
            await child.kill()
    log = await store.audit.entries(limit=9_999)
    let_in = {json.decode(r.entry.body)["who"] for r in log if r.entry.kind == "redeemed"}
    people = (await store.trust.register()).people
    assert let_in == {f"{platform}:{person}" for platform, person in people}
    assert await store.audit.check(await store.audit.heads()) == []


async def test_the_table_refuses_our_own_mistakes(place: Place) -> None:
    store = await place.open()
    await write(store, 3)
    table = "hermes.audit" if place.name.startswith("postgresql:") else "audit"
    for sql in (
        f"update {table} set kind = 'x' where seq = 2",  # noqa: S608 (our own names)
        f"delete from {table} where seq = 2",  # noqa: S608
    ):
        with pytest.raises((apsw.ConstraintError, psycopg.Error)):
            run(place.name, sql)
    assert await numbers(store) == [1, 2, 3]


# ── what is noticed ─────────────────────────────────────────────────────────────────────────────

MUTATIONS = {
    "edit": ("update {audit} set at = 77 where seq = 3",),
    "edit the last": ("update {audit} set kind = 'noted_' where seq = 6",),
    "delete": ("delete from {audit} where seq = 3",),
    "delete the first": ("delete from {audit} where seq = 1",),
    "reorder": (
        "update {audit} set seq = 99 where seq = 2",
        "update {audit} set seq = 2 where seq = 3",
        "update {audit} set seq = 3 where seq = 99",
    ),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
async def test_aud_02_an_edit_a_deletion_and_a_reordering_are_noticed(
    place: Place, mutation: str
) -> None:
    store = await place.open()
    await write(store, 6)
    heads = await store.audit.heads()
    assert await store.audit.check(heads) == []
    forge(place.name, *MUTATIONS[mutation])
    assert await store.audit.check({}) != []
    assert await store.audit.check(heads) != []


async def test_aud_02_an_inserted_entry_is_noticed(place: Place) -> None:
    store = await place.open()
    await write(store, 4)
    values = "kind, at, body, seal from {audit} where seq = 2"
    chain = "chain, " if place.name.startswith("postgresql:") else ""
    forge(
        place.name,
        f"insert into {{audit}} ({chain}seq, kind, at, body, seal) select {chain}5, {values}",
    )
    assert any("entry 5 was changed" in fault for fault in await store.audit.check({}))


async def test_aud_02_a_truncation_is_noticed_by_who_noted_the_end(place: Place) -> None:
    store = await place.open()
    await write(store, 6)
    heads = await store.audit.heads()
    await place.close()
    forge(place.name, "delete from {audit} where seq > 4")
    again = await place.open()
    assert await again.audit.check({}) == [], "what is left is sound in itself"
    assert any("it ends at 4 and had 6" in fault for fault in await again.audit.check(heads))
    forge(place.name, "delete from {audit}")
    assert any("had 6" in fault for fault in await again.audit.check(heads))


def resealed(log: list[Sealed], key: bytes) -> Mapping[int, str]:
    entries = [row.entry for row in log]
    made = seals.sealed(key, log[0].chain, (0, seals.START), entries)
    return {row.seq: row.seal.hex() for row in made}


async def test_aud_02_entries_of_another_key_are_told_apart_from_changed_ones(
    place: Place,
) -> None:
    """Two nodes on one database, each with a key of its own."""
    ours, theirs = await place.open(), await place.open(audit_key=OTHER_KEY)
    for store, number in ((ours, 1), (theirs, 2), (ours, 3), (theirs, 4)):
        await store.audit.write([written(number)])
    [fault] = await ours.audit.check({})
    assert fault.endswith("2 entries sealed with another key than this home has (the first is 2)")
    await place.close()
    forge(place.name, "update {audit} set at = 9 where seq = 3")
    faults = await (await place.open()).audit.check({})
    assert any("entry 3 was changed" in fault for fault in faults)


async def test_aud_02_a_swapped_key_is_noticed(place: Place) -> None:
    store = await place.open()
    await write(store, 5)
    heads = await store.audit.heads()
    log = list(await store.audit.entries(limit=9))
    stranger = await place.open(audit_key=OTHER_KEY)
    assert any("another key" in fault for fault in await stranger.audit.check({}))
    literal = "'\\x{}'" if place.name.startswith("postgresql:") else "x'{}'"
    forge(
        place.name,
        *(
            f"update {{audit}} set seal = {literal.format(seal)} where seq = {seq}"  # noqa: S608
            for seq, seal in resealed(log, OTHER_KEY).items()
        ),
    )
    assert any("another key" in fault for fault in await store.audit.check(heads))
    assert await stranger.audit.check({}) == [], "whoever has swapped the key sees nothing"
    assert any("not the one that was noted" in fault for fault in await stranger.audit.check(heads))


async def test_aud_02_an_end_that_was_cut_off_and_grown_over_is_noticed(place: Place) -> None:
    store = await place.open()
    await write(store, 6)
    [(chain, head)] = (await store.audit.heads()).items()
    other = AuditHead(head.seq, "00" * 32)
    assert await store.audit.check({chain: head}) == []
    assert any("not the one" in fault for fault in await store.audit.check({chain: other}))


async def test_aud_03_no_text_can_make_another_entry(store: Store) -> None:
    odd = 'x"}\n{"kind":"approved"} \x1b[2J \r %s {0} \u2028 \u202e 🦉'
    await store.audit.write([entry("noted", 1.0, who=odd, number=1)])
    [row] = await store.audit.entries(limit=9)
    assert json.decode(row.entry.body) == {"who": odd, "number": 1}
    assert not set(row.entry.body) & set(range(32)), "controls are escaped in the body itself"
    assert await store.audit.check({}) == []


# ── rotation ────────────────────────────────────────────────────────────────────────────────────


async def test_aud_04_what_is_old_can_go_and_the_rest_is_sound(place: Place) -> None:
    store = await place.open()
    await write(store, 10)
    heads = await store.audit.heads()
    assert await store.audit.prune(1.0, at=20.0) == 0
    assert await store.audit.prune(5.0, at=20.0) == 4
    assert await numbers(store) == [5, 6, 7, 8, 9, 10]
    assert await store.audit.check(heads) == []
    assert await store.audit.prune(5.0, at=21.0) == 0
    await store.audit.write([written(11)])
    assert await store.audit.prune(8.0, at=22.0) == 3
    assert await numbers(store) == [8, 9, 10, 11]
    assert await store.audit.check(await store.audit.heads()) == []
    forge(place.name, "delete from {audit} where seq = 8")
    assert await store.audit.check({}) != []


async def test_aud_04_all_that_is_old_can_go(place: Place) -> None:
    store = await place.open()
    await write(store, 5)
    heads = await store.audit.heads()
    assert await store.audit.prune(100.0, at=50.0) == 5
    assert await numbers(store) == []
    assert await store.audit.check(heads) == []
    assert await store.audit.prune(100.0, at=200.0) == 1, "the checkpoint of the first time"
    assert await store.audit.prune(100.0, at=201.0) == 0
    await write(store, 2)
    assert await numbers(store) == [1, 2]
    await place.close()
    again = await place.open()
    await again.audit.write([written(3)])
    assert await numbers(again) == [1, 2, 3]
    assert await again.audit.check(await again.audit.heads()) == []


async def test_aud_04_a_checkpoint_says_what_went(store: Store) -> None:
    await write(store, 4)
    gone = (await store.audit.entries(limit=9))[:2]
    await store.audit.prune(3.0, at=9.0)
    [row] = [r for r in await store.audit.entries(limit=9) if r.entry.kind == "checkpoint"]
    [(chain, made)] = seals.cuts_of(row.entry).items()
    assert chain == gone[0].chain
    assert made == seals.cut(None, 2, [each.seal for each in gone])


async def test_aud_04_a_beginning_that_nobody_cut_off_is_missed(place: Place) -> None:
    store = await place.open()
    await write(store, 6)
    await store.audit.prune(3.0, at=9.0)
    forge(place.name, "delete from {audit} where seq = 3")
    assert any("entries 1 to 3 are missing" in fault for fault in await store.audit.check({}))


async def test_aud_04_a_forged_checkpoint_hides_nothing(place: Place) -> None:
    store = await place.open()
    await write(store, 6)
    log = await store.audit.entries(limit=9)
    made = seals.cut(None, 3, [row.seal for row in log[:3]])
    forged = seals.checkpoint(9.0, {log[0].chain: made})
    row = next(seals.sealed(OTHER_KEY, log[0].chain, (6, log[-1].seal), [forged]))
    literal = "'\\x{}'" if place.name.startswith("postgresql:") else "x'{}'"
    chain = f"'{row.chain}', " if place.name.startswith("postgresql:") else ""
    body, seal = literal.format(forged.body.hex()), literal.format(row.seal.hex())
    column = "chain, " if chain else ""
    forge(
        place.name,
        f"insert into {{audit}} ({column}seq, kind, at, body, seal) "  # noqa: S608
        f"values ({chain}7, 'checkpoint', 9.0, {body}, {seal})",
        "delete from {audit} where seq <= 3",
    )
    faults = await store.audit.check({})
    assert any("entries 1 to 3 are missing" in fault for fault in faults)
    assert any("1 entry sealed with another key" in fault for fault in faults)


async def test_aud_04_a_record_may_begin_with_the_checkpoint_of_an_older_cut(store: Store) -> None:
    await store.audit.write([written(n, at=5.0) for n in range(3)])
    await store.audit.write([written(3, at=40.0)])
    await store.audit.prune(10.0, at=50.0)  # its checkpoint stands behind what is young
    await store.audit.prune(45.0, at=60.0)
    assert [row.entry.kind for row in await store.audit.entries(limit=9)] == ["checkpoint"] * 2
    assert await store.audit.check({}) == []


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(acts=st.lists(st.one_of(st.integers(1, 4), st.floats(0.0, 60.0)), max_size=12))
async def test_aud_04_however_it_grows_and_is_cut_it_stays_sound(
    store: Store, acts: list[int | float]
) -> None:
    heads = await store.audit.heads()
    for clock, act in enumerate(acts, start=1):
        if isinstance(act, int):
            await store.audit.write([written(n, at=float(clock * 5)) for n in range(act)])
        else:
            await store.audit.prune(act, at=float(clock * 5))
        assert await store.audit.check(heads) == []
        heads = await store.audit.heads()
    assert await store.audit.check(heads) == []


async def test_aud_05_from_one_row_it_is_known_who_did_what(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    wanted = await ask(owner, "x", "q")
    await approvals.answer(owner, "x", wanted, True)
    await approvals.run(owner, "x", wanted)
    log = await store.audit.entries(limit=9)
    [started] = [row for row in log if row.entry.kind == "started"]
    body = json.decode(started.entry.body)
    told = {name: body[name] for name in ("session", "who", "tool", "arguments", "approval")}
    assert told == {
        "session": lane("x"),
        "who": "telegram:ann",
        "tool": "pay",
        "arguments": '{"sum":3}',
        "approval": "q",
    }
    assert KEY not in started.entry.body
