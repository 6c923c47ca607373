"""What people are asked: listed with its commit, answered by a later one, and rebuilt."""

import asyncio

import pytest

from hermes.core import events as e
from hermes.core.errors import Outdated
from hermes.core.projection import QuestionRow, commit_of
from hermes.core.store import Store
from tests.contract import approvals
from tests.contract.approvals import FAR, answer, ask, grant
from tests.contract.places import A, Place, begin, conversation, lane, message, positions, turn


async def states(store: Store) -> dict[str, str]:
    return {row.id: row.state for row in await store.library.questions(limit=99)}


async def test_a_question_is_listed_until_it_is_answered(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    wanted = await ask(owner, "x", "q1")
    row = QuestionRow(
        id="q1",
        key=lane("x"),
        turn=turn("x"),
        tool="pay",
        preview="Pay q1?",
        why="it costs money",
        asked_at=3.0,
        expires_at=100.0,
    )
    assert await store.library.questions(limit=9, pending=True) == [row]
    assert await store.library.question("q1") == row
    assert await store.library.question("q2") is None
    await answer(owner, "x", wanted, True)
    assert await store.library.questions(limit=9, pending=True) == []
    found = await store.library.question("q1")
    assert found is not None
    assert (found.state, found.decided_by, found.decided_at) == ("approved", "telegram:ann", 5.0)
    await approvals.run(owner, "x", wanted)
    used = await store.library.question("q1")
    assert used is not None
    assert (used.state, used.decided_by, used.decided_at) == ("used", "telegram:ann", 5.0)


async def test_what_becomes_of_a_question_is_in_its_row(store: Store) -> None:
    await store.nodes.join(A)
    for name in ("denied", "expired", "superseded"):
        owner = await begin(store, A, name)
        wanted = await ask(owner, name, name)
        if name == "superseded":
            await owner.write(e.TurnInterrupted(turn(name), "stopped", 6.0))
        else:
            await answer(owner, name, wanted, False, by="telegram:ann" if name == "denied" else "")
    assert await states(store) == {
        "denied": "denied",
        "expired": "expired",
        "superseded": "superseded",
    }


async def test_the_latest_question_comes_first(store: Store) -> None:
    await store.nodes.join(A)
    for number, name in enumerate(("a", "b", "c")):
        await ask(await begin(store, A, name), name, name, at=3.0 + number % 2)
    assert [row.id for row in await store.library.questions(limit=2)] == ["b", "c"]


async def test_sessions_whose_question_is_overdue_are_found(store: Store) -> None:
    await store.nodes.join(A)
    for name, until in (("late", 50.0), ("later", 60.0), ("never", 0.0), ("young", 90.0)):
        await ask(await begin(store, A, name), name, name, expires_at=until)
    answered = await begin(store, A, "done")
    await answer(answered, "done", await ask(answered, "done", "done", expires_at=20.0), True)
    assert await store.library.overdue(49.0, limit=9) == []
    assert await store.library.overdue(60.0, limit=9) == [lane("late"), lane("later")]
    assert await store.library.overdue(60.0, limit=1) == [lane("late")]


async def test_questions_are_the_same_after_a_rebuild(store: Store) -> None:
    await store.nodes.join(A)
    for name in ("x", "y", "z"):
        owner = await begin(store, A, name)
        wanted = await ask(owner, name, f"q-{name}")
        if name != "z":
            await answer(
                owner, name, wanted, name == "x", always=grant("g") if name == "x" else None
            )
        if name == "x":
            await approvals.run(owner, name, wanted)
    assert await store.trust.revoke_grant("g", by="me", at=9.0)
    before = await store.library.questions(limit=9)
    log = await store.audit.entries(limit=99)
    version = await store.trust.version()
    await store.library.rebuild()
    assert await store.library.questions(limit=9) == before
    assert await states(store) == {"q-x": "used", "q-y": "denied", "q-z": "pending"}
    assert (await store.trust.register()).grants == (), "what was revoked stays so"
    assert await store.trust.version() == version
    assert await store.audit.entries(limit=99) == log


async def test_questions_go_with_their_session(store: Store) -> None:
    await store.nodes.join(A)
    for name in ("x", "y"):
        owner = await begin(store, A, name)
        await answer(owner, name, await ask(owner, name, name), False)
        await owner.write(e.TurnInterrupted(turn(name), "stopped", 6.0), rests=True)
    log = await store.audit.entries(limit=99)
    assert await store.library.delete(lane("x"))
    assert list(await states(store)) == ["y"]
    assert await store.audit.entries(limit=99) == log, "what was done is still known"


async def test_any_text_can_be_asked_about(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    odd = "it's \0 \x1b[31m 🦉 %s \n"
    await ask(owner, "x", odd.replace("\0", ""))
    [row] = await store.library.questions(limit=9)
    assert row.id == odd.replace("\0", "")


# ── the standing ────────────────────────────────────────────────────────────────────────────────


async def test_what_was_decided_by_an_old_register_is_not_written(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    version = await store.trust.version()
    start = e.TurnStarted(turn("x"), ("telegram:bot#x-0",), owner.fence.epoch, 2.0)
    commit = commit_of(owner.session, (start,), trust_version=version)
    await other.trust.revoke(approvals.known("bob"))
    with pytest.raises(Outdated):
        await store.journal.append(commit, fence=owner.fence)
    assert await positions(store, "x") == ["MessageReceived"]
    assert await store.library.turns(limit=9) == []
    assert await store.trust.version() == version + 1
    again = commit_of(owner.session, (start,), trust_version=version + 1)
    assert await store.journal.append(again, fence=owner.fence) == 2


async def test_one_outdated_commit_does_not_spoil_those_beside_it(store: Store) -> None:
    await store.nodes.join(A)
    owners = {name: await begin(store, A, name) for name in ("x", "y", "z")}
    await store.trust.admit(approvals.known("ann"))
    version = await store.trust.version()
    appended = [
        store.journal.append(
            commit_of(
                owner.session,
                (e.TurnStarted(turn(name), (f"telegram:bot#{name}-0",), owner.fence.epoch, 2.0),),
                trust_version=version - (name == "y"),
            ),
            fence=owner.fence,
        )
        for name, owner in owners.items()
    ]
    async with asyncio.timeout(30):
        done = await asyncio.gather(*appended, return_exceptions=True)
    assert [type(each) for each in done] == [int, Outdated, int]
    assert sorted(row.key for row in await store.library.turns(limit=9)) == [lane("x"), lane("z")]


async def test_what_begins_nothing_needs_no_standing(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    await owner.start("x")
    await store.trust.admit(approvals.known("bob"))
    ended = e.TurnInterrupted(turn("x"), "stopped", 3.0)
    commit = commit_of(owner.session, (ended,), trust_version=0)
    assert await store.journal.append(commit, fence=owner.fence) == 3


# ── grants ──────────────────────────────────────────────────────────────────────────────────────


async def test_always_is_in_the_register_with_the_commit_of_its_answer(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    wanted = await ask(owner, "x", "q1")
    version = await store.trust.version()
    await answer(owner, "x", wanted, True, always=grant("q1"))
    register = await store.trust.register()
    assert (register.grants, register.version) == ((grant("q1"),), version + 1)
    assert await store.trust.revoke_grant("q1", by="me", at=9.0)
    assert not await store.trust.revoke_grant("q1", by="me", at=9.0)
    register = await store.trust.register()
    assert (register.grants, register.version) == ((), version + 2)


async def test_a_grant_that_has_expired_is_not_in_the_register(place: Place) -> None:
    now = [50.0]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    for name, until in (("short", 60.0), ("long", FAR)):
        owner = await begin(store, A, name)
        await answer(
            owner,
            name,
            await ask(owner, name, name),
            True,
            always=grant(name, expires_at=until),
        )
    assert {each.id for each in (await store.trust.register()).grants} == {"short", "long"}
    now[0] = 60.0
    assert {each.id for each in (await store.trust.register()).grants} == {"long"}


async def test_a_message_is_taken_in_whatever_the_register_says(store: Store) -> None:
    await store.trust.revoke(approvals.known("ann"))
    accepted = await store.journal.accept(message(0), opens=conversation())
    assert accepted.fresh
