"""Who may come in: invites, requests, people; one transaction each, and one winner."""

import asyncio
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from hermes.core.messages import Address
from hermes.core.people import Role
from hermes.core.store import Store
from hermes.core.trust import KnownPerson
from tests.contract.approvals import invite, known, request
from tests.contract.kids import kid
from tests.contract.places import LEASE_S, A, Owner, Place, begin, reply
from tests.contract.surgery import run


async def roles(store: Store) -> dict[str, Role]:
    return {each.id: each.role for each in (await store.trust.register()).people.values()}


async def said(store: Store) -> list[tuple[str, str]]:
    """The kinds in the log, each with who did it."""
    return [
        (row.entry.kind, json.decode(row.entry.body).get("by", ""))
        for row in await store.audit.entries(limit=999)
    ]


# ── invites ─────────────────────────────────────────────────────────────────────────────────────


async def test_an_invite_lets_one_person_in_once(store: Store) -> None:
    await store.trust.invite(invite("d1"))
    assert await store.trust.version() == 0
    let_in = await store.trust.redeem("d1", known("ann", Role.STRANGER, chat="c"))
    assert let_in == known("ann", Role.PAIRED, chat="c")
    assert (await store.trust.register()).people == {("telegram", "ann"): let_in}
    assert await store.trust.redeem("d1", known("bob")) is None
    assert await store.trust.redeem("d1", known("ann")) is None
    assert await roles(store) == {"ann": Role.PAIRED}
    assert await store.trust.version() == 1
    assert await said(store) == [("invited", "terminal"), ("redeemed", "me")]


async def test_an_invite_that_is_over_or_unknown_lets_nobody_in(store: Store) -> None:
    await store.trust.invite(invite("d1", until=10.0))
    assert await store.trust.redeem("d1", known("ann", at=10.0)) is None
    assert await store.trust.redeem("d2", known("ann", at=5.0)) is None
    assert await store.trust.redeem("", known("ann", at=5.0)) is None
    assert await roles(store) == {}
    assert await store.trust.version() == 0


async def test_pol_10_an_invite_of_the_future_lets_nobody_in(store: Store) -> None:
    """A clock was set back since it was made, so nobody knows when its time is over."""
    day_s = 86_400.0
    made = replace(invite("d1"), made_at=10 * day_s, expires_at=10 * day_s + 600.0)
    await store.trust.invite(made)
    assert await store.trust.redeem("d1", known("ann", at=7 * day_s)) is None
    assert await store.trust.redeem("d1", known("ann", at=10 * day_s - 60.0)) is not None


async def test_an_invite_takes_nothing_away_and_brings_back_who_was_sent_away(store: Store) -> None:
    await store.trust.admit(known("owner", Role.OWNER))
    await store.trust.revoke(known("gone"))
    for number, person in enumerate(("owner", "gone")):
        await store.trust.invite(invite(f"d{number}"))
        assert await store.trust.redeem(f"d{number}", known(person)) is not None
    assert await roles(store) == {"owner": Role.OWNER, "gone": Role.PAIRED}


async def test_pair_08_of_two_who_redeem_at_once_one_is_let_in(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    for number in range(10):
        await stores[0].trust.invite(invite(f"d{number}"))
        done = await asyncio.gather(
            *(
                each.trust.redeem(f"d{number}", known(f"p{number}-{who}"))
                for who, each in enumerate(stores * 3)
            )
        )
        assert sum(each is not None for each in done) == 1
    assert len(await roles(stores[0])) == 10
    assert await stores[1].trust.version() == 10
    assert await stores[0].audit.check({}) == []


async def test_pair_08_killed_at_any_moment_everyone_let_in_used_one_invite(place: Place) -> None:
    store = await place.open()
    told: list[str] = []
    for round_ in range(4):
        async with (
            kid(place.name, lease_s=LEASE_S) as child,
            kid(place.name, lease_s=LEASE_S) as rival,
        ):
            for process in (child, rival):
                process.tell("let_in", 1000 * round_)
            for _ in range(round_ + 2):
                told += [name for name in (await child.hear(), await rival.hear()) if name]
            await child.kill()
            await rival.kill()
            told += [name for name in (*await child.hear_all(), *await rival.hear_all()) if name]
    await expect_consistent(place, store, told)


async def expect_consistent(place: Place, store: Store, told: Sequence[str]) -> None:
    """Who was told to be let in is; whoever is in has used an invite; and the log says so."""
    people = await roles(store)
    assert set(told) <= set(people)
    table = "hermes.invites" if place.name.startswith("postgresql:") else "invites"
    sql = f"select count(*) from {table} where used_at is not null"  # noqa: S608 (our own names)
    used = run(place.name, sql)[0][0]
    log = await store.audit.entries(limit=9_999)
    assert len([row for row in log if row.entry.kind == "redeemed"]) == await store.trust.version()
    assert await store.trust.version() >= len(people) >= int(str(used)) > 0
    assert await store.audit.check({}) == []


async def test_pair_07_no_code_is_kept_and_no_whole_digest_is_in_the_log(store: Store) -> None:
    digest = "0123456789abcdef" * 4
    await store.trust.invite(invite(digest))
    await store.trust.redeem(digest, known("ann"))
    for row in await store.audit.entries(limit=9):
        assert digest.encode() not in row.entry.body
        assert digest[:12].encode() in row.entry.body


# ── requests ────────────────────────────────────────────────────────────────────────────────────


async def test_who_asks_twice_is_noted_once(store: Store) -> None:
    assert await store.trust.ask(request("ann"), most=5)
    assert not await store.trust.ask(replace(request("ann"), id="other"), most=5)
    assert await store.trust.requests() == [request("ann")]
    assert await store.trust.version() == 0
    assert [kind for kind, _ in await said(store)] == ["asked_in"]
    [row] = await store.audit.entries(limit=9)
    assert b"let me in" not in row.entry.body, "a stranger's words are for the owner's eyes only"


async def test_pair_02_the_oldest_stranger_makes_room(store: Store) -> None:
    await store.trust.invite(invite("d"))
    for number in range(30):
        assert await store.trust.ask(request(f"s{number}"), most=5)
    found = [each.person for each in await store.trust.requests()]
    assert found == ["s25", "s26", "s27", "s28", "s29"]
    assert await store.trust.redeem("d", known("ann")) is not None, "an invite works all the same"


async def test_a_request_is_kept_short(store: Store) -> None:
    long = replace(request("ann"), name="n" * 9_000, text="t" * 90_000)
    assert await store.trust.ask(long, most=5)
    [found] = await store.trust.requests()
    assert len(found.name) <= 200
    assert len(found.text) <= 1_000


async def test_a_request_is_answered_once(store: Store) -> None:
    for person in ("ann", "bob"):
        await store.trust.ask(request(person), most=5)
    assert await store.trust.admit(known("ann"), request="r-ann")
    assert not await store.trust.admit(known("ann"), request="r-ann")
    assert not await store.trust.admit(known("eve"), request="r-bob"), "it is bob's"
    assert await store.trust.dismiss("r-bob", by="me", at=5.0)
    assert not await store.trust.dismiss("r-bob", by="me", at=5.0)
    assert not await store.trust.admit(known("bob"), request="r-bob")
    assert await store.trust.requests() == []
    assert await roles(store) == {"ann": Role.PAIRED}
    assert await store.trust.version() == 1
    assert [kind for kind, _ in await said(store)][2:] == ["admitted", "dismissed"]


async def test_pair_08_of_two_owners_who_answer_at_once_one_does(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    for number in range(8):
        person = f"p{number}"
        await stores[0].trust.ask(request(person), most=99)
        admitted, dismissed = await asyncio.gather(
            stores[number % 2].trust.admit(known(person), request=f"r-{person}"),
            stores[1 - number % 2].trust.dismiss(f"r-{person}", by="you", at=5.0),
        )
        assert admitted is not dismissed
        assert (person in await roles(stores[0])) is admitted
    assert await stores[0].trust.requests() == []


async def test_who_is_let_in_otherwise_asks_no_more(store: Store) -> None:
    await store.trust.invite(invite("d"))
    for person in ("ann", "bob", "cy"):
        await store.trust.ask(request(person), most=5)
    await store.trust.redeem("d", known("ann"))
    await store.trust.admit(known("bob"))
    await store.trust.revoke(known("cy"))
    assert await store.trust.requests() == []


# ── sending away ────────────────────────────────────────────────────────────────────────────────


async def answered(store: Store, chat: str) -> Owner:
    owner = await begin(store, A, chat)
    await owner.start(chat)
    await owner.finish(chat)
    return owner


async def due(store: Store) -> list[str]:
    rows = await store.outbox.due(["telegram"], now=50.0, limit=99)
    return sorted(row.reply.address.chat for row in rows)


async def test_pair_06_nothing_that_waits_is_sent_to_who_was_sent_away(store: Store) -> None:
    await store.nodes.join(A)
    for chat in ("ann", "room", "bob", "elsewhere"):
        await answered(store, chat)
    await store.trust.admit(known("ann", chat="room"))
    assert await due(store) == ["ann", "bob", "elsewhere", "room"]
    await store.trust.revoke(known("ann", at=20.0))
    assert await due(store) == ["bob", "elsewhere"]
    assert (await store.library.counts()).outbox["abandoned"] == 2
    register = await store.trust.register()
    assert register.people["telegram", "ann"].role is Role.STRANGER
    assert (await said(store))[-1] == ("sent_away", "me")


async def test_pair_06_what_is_being_sent_is_not_tried_again(store: Store) -> None:
    await store.nodes.join(A)
    await answered(store, "ann")
    assert await store.outbox.sending(reply("ann").id, node=A)
    await store.trust.revoke(known("ann"))
    await store.outbox.failed(reply("ann").id, "try again", not_before=0.0, abandon=False)
    assert await due(store) == []
    assert not await store.outbox.sending(reply("ann").id, node=A)


async def test_sending_somebody_away_leaves_the_same_chat_elsewhere_alone(store: Store) -> None:
    await store.nodes.join(A)
    await answered(store, "ann")
    await store.trust.revoke(replace(known("ann"), platform="discord"))
    assert await due(store) == ["ann"]
    assert Address(platform="telegram", chat="ann") == reply("ann").address


async def test_a_chat_without_a_name_is_nobodys(store: Store) -> None:
    await store.nodes.join(A)
    await answered(store, "")
    await store.trust.revoke(known("ann", chat=""))
    assert await due(store) == [""]


async def test_another_process_sees_a_change_at_once(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.trust.admit(known("ann"))
    assert await other.trust.version() == 1
    assert await roles(other) == {"ann": Role.PAIRED}
    await other.trust.revoke(known("ann"))
    assert await roles(store) == {"ann": Role.STRANGER}


async def test_any_text_can_be_in_the_register(store: Store) -> None:
    odd = "quote ' \" \\ 🦉 %s \x1b[31m\n"
    await store.trust.admit(replace(known("ann"), name=odd, by=odd))
    await store.trust.ask(replace(request("bob"), name=odd, text=odd), most=5)
    await store.trust.revoke(
        KnownPerson(platform="telegram", id="nul\0", role=Role.PAIRED, name="\0")
    )
    register = await store.trust.register()
    assert register.people["telegram", "ann"].name == odd
    assert register.people["telegram", "nul"].role is Role.STRANGER
    [found] = await store.trust.requests()
    assert (found.name, found.text) == (odd, odd)
    assert await store.audit.check({}) == []


# ── any order of all of it ──────────────────────────────────────────────────────────────────────

PEOPLE = st.sampled_from(["ann", "bob", "cy"])
ACTS = st.tuples(st.sampled_from(["invite", "redeem", "ask", "admit", "revoke", "dismiss"]), PEOPLE)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(acts=st.lists(ACTS, max_size=25))
async def test_the_register_says_what_was_done_last(
    store: Store, acts: list[tuple[str, str]]
) -> None:
    """A small model of it beside the store: after any acts both say the same."""
    for person in ("ann", "bob", "cy"):
        await store.trust.revoke(known(person))  # a known beginning, in a store that was used
    expected = dict.fromkeys(("ann", "bob", "cy"), Role.STRANGER)
    open_, asking, version = set[str](), set[str](), await store.trust.version()
    for act, person in acts:
        match act:
            case "invite":
                await store.trust.invite(invite(person))
                open_.add(person)
            case "redeem":
                won = await store.trust.redeem(person, known(person)) is not None
                assert won is (person in open_)
                open_.discard(person)
                if won:
                    expected[person] = Role.PAIRED
                    asking.discard(person)
                    version += 1
            case "ask":
                assert await store.trust.ask(request(person), most=9) is (person not in asking)
                asking.add(person)
            case "admit":
                done = await store.trust.admit(known(person), request=f"r-{person}")
                assert done is (person in asking)
                if done:
                    expected[person] = Role.PAIRED
                    asking.discard(person)
                    version += 1
            case "revoke":
                await store.trust.revoke(known(person))
                expected[person] = Role.STRANGER
                asking.discard(person)
                version += 1
            case "dismiss":
                done = await store.trust.dismiss(f"r-{person}", by="me", at=2.0)
                assert done is (person in asking)
                asking.discard(person)
        assert await roles(store) == expected
        assert await store.trust.version() == version
    for person in open_:
        await store.trust.redeem(person, known(person))
    assert await store.audit.check({}) == []
