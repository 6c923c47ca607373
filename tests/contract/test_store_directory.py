"""Listings that a gateway adds: conversations, chats, homes, phases, and the store at a glance."""

import asyncio

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import SessionId, SessionKey, TurnId, session_key
from hermes.core.messages import Address, Call, Inbound, Line
from hermes.core.session import call_id
from hermes.core.store import ChatRow, Home, Store
from tests.contract.places import (
    A,
    Owner,
    Place,
    begin,
    conversation,
    lane,
    message,
    own,
    reply,
    turn,
)

HOUR_S = 3_600.0


def named(inbound: Inbound) -> str:
    return f"{inbound.account}#{inbound.id}"


# ── conversations ───────────────────────────────────────────────────────────────────────────────


async def told(store: Store, chat: str, text: str, *, at: float = 2.0) -> Owner:
    """A turn that was answered at `at`."""
    inbound = replace(message(0, chat, text), at=at)
    await store.journal.accept(inbound, opens=conversation(chat))
    owner = await own(store, A, chat)
    await owner.start(chat, at=at)
    await owner.finish(chat, at=at)
    return owner


async def again(owner: Owner, chat: str, number: int, text: str, *, at: float) -> None:
    """Another turn in that lane."""
    inbound = replace(message(number, chat, text), at=at)
    await owner.store.journal.accept(inbound, opens=SessionId("unused"))
    owner.session = await owner.store.journal.load(lane(chat))
    name = TurnId(f"turn-{chat}-{number}")
    await owner.write(e.TurnStarted(name, (named(inbound),), owner.fence.epoch, at))
    await owner.write(e.ModelAnswered(turn=name, at=at, text="yes"))
    await owner.write(e.TurnEnded(turn=name, outcome="answered", at=at))


async def test_conversations_keep_their_titles_and_come_latest_first(store: Store) -> None:
    await store.nodes.join(A)
    owner = await told(store, "x", "What do\n\n  owls eat?", at=10.0)
    await owner.write(e.FactSet("title", "Owls", 11.0))
    await owner.write(e.SessionReset(SessionId("second"), "asked", 12.0))
    await again(owner, "x", 1, "and swifts?", at=20.0)
    await owner.write(e.FactSet("title", "Swifts", 21.0))
    await told(store, "y", "hello there", at=15.0)
    rows = await store.library.conversations(None, limit=9)
    assert [(row.id, row.key, row.title) for row in rows] == [
        ("second", lane("x"), "Swifts"),
        (conversation("y"), lane("y"), ""),
        (conversation("x"), lane("x"), "Owls"),
    ]
    assert [(row.rows, row.opening, row.at) for row in rows] == [
        (2, "and swifts?", 20.0),
        (2, "hello there", 15.0),
        (2, "What do owls eat?", 10.0),
    ]
    of_lane = await store.library.conversations(lane("x"), limit=9)
    assert of_lane == [rows[0], rows[2]]
    assert await store.library.conversations(None, limit=1) == [rows[0]]
    assert await store.library.conversations(lane("none"), limit=9) == []


async def test_a_conversation_without_a_row_is_not_listed(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    assert await store.library.conversations(None, limit=9) == []
    await owner.write(e.SessionReset(SessionId("second"), "asked", 3.0))
    await owner.write(e.FactSet("title", "Empty", 4.0))
    assert await store.library.conversations(lane("x"), limit=9) == []


async def test_a_title_given_with_the_reset_belongs_to_the_old_conversation(store: Store) -> None:
    await store.nodes.join(A)
    owner = await told(store, "x", "first")
    await owner.write(
        e.FactSet("title", "Old", 5.0),
        e.SessionReset(SessionId("second"), "asked", 6.0),
        e.FactSet("title", "New", 6.0),
    )
    await again(owner, "x", 1, "second", at=7.0)
    rows = await store.library.conversations(lane("x"), limit=9)
    assert [(row.id, row.title) for row in rows] == [("second", "New"), (conversation("x"), "Old")]
    await owner.write(e.FactSet("title", "", 8.0), e.SessionReset(SessionId("third"), "asked", 8.0))
    rows = await store.library.conversations(lane("x"), limit=9)
    assert [(row.id, row.title) for row in rows] == [("second", ""), (conversation("x"), "Old")]


async def test_a_conversation_opens_with_the_first_words_of_a_person(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "x", text="long " * 1_000)
    inbound = owner.session.waiting[0]
    await owner.write(e.MessageRelayed(named(inbound), "news from elsewhere", 2.0))
    [row] = await store.library.conversations(None, limit=9)
    assert (row.opening, row.rows) == ("", 1)
    await again(owner, "x", 1, "long " * 1_000, at=3.0)
    [row] = await store.library.conversations(None, limit=9)
    assert row.opening.startswith("long long long")
    assert len(row.opening) <= 100
    await again(owner, "x", 2, "something else", at=4.0)
    [last] = await store.library.conversations(None, limit=9)
    assert (last.opening, last.rows, last.at) == (row.opening, 5, 4.0)


async def test_a_conversation_that_its_sender_carries_opens_with_it(store: Store) -> None:
    await store.nodes.join(A)
    before = (Line(role="user", text="once upon"), Line(role="assistant", text="a time"))
    inbound = replace(message(0, "x", "and then?"), at=5.0, before=before)
    await store.journal.accept(inbound, opens=conversation("x"))
    owner = await own(store, A, "x")
    await owner.start("x", at=6.0)
    [row] = await store.library.conversations(None, limit=9)
    assert (row.opening, row.rows, row.at) == ("once upon", 3, 5.0)


# ── phases ──────────────────────────────────────────────────────────────────────────────────────


async def test_sessions_are_found_by_their_phase(store: Store) -> None:
    await store.nodes.join(A)
    for number, chat in enumerate(("r1", "r2", "a1", "s1", "i1")):
        owner = await begin(store, A, chat)
        await owner.start(chat, at=float(number))
        match chat[0]:
            case "a":
                await ask(owner, chat)
            case "s":
                await owner.write(e.SessionSuspended("three times", 9.0))
            case "i":
                await owner.finish(chat)
    assert await keys(store, "running") == [lane("r2"), lane("r1")]
    assert await keys(store, "asking") == [lane("a1")]
    assert await keys(store, "suspended") == [lane("s1")]
    [row] = await store.library.in_phase("running", limit=1)
    assert row == await store.library.find(lane("r2"))


async def keys(store: Store, phase: str) -> list[SessionKey]:
    return [row.key for row in await store.library.in_phase(phase, limit=9)]


async def ask(owner: Owner, chat: str) -> None:
    assert owner.session.turn is not None
    call = Call(id=call_id(owner.session.turn, 1), tool="pay")
    await owner.write(e.ModelAnswered(turn=turn(chat), at=3.0, calls=(call,)))
    await owner.write(e.QuestionAsked(turn(chat), call.id, reply(chat), 3.0))


# ── the directory ───────────────────────────────────────────────────────────────────────────────


def placed(number: int, chat: str, name: str, at: float, *, user: str = "") -> Inbound:
    """A message in a chat that people call by a name; with `user`, in a lane of their own."""
    key = session_key("telegram", "group", chat, user)
    address = Address(platform="telegram", chat=chat, account="telegram:bot")
    made = message(f"{user}{number}", chat, at=at)
    return replace(made, session=key, address=address, place=name)


async def accept(store: Store, inbound: Inbound) -> None:
    await store.journal.accept(inbound, opens=SessionId(f"of-{inbound.session}"))


async def test_a_message_that_names_its_place_is_in_the_directory(store: Store) -> None:
    await accept(store, message(0, "private"))
    await accept(store, placed(0, "1", "Owl Watch", 1_000.0))
    thread = replace(placed(1, "1", "Owl Watch / Nests", 2_000.0))
    thread = replace(thread, address=replace(thread.address, thread="7"))
    await accept(store, thread)
    await accept(store, replace(thread, place="delivered twice"))
    assert await store.library.chats(limit=9) == [
        ChatRow(
            address=thread.address,
            name="Owl Watch / Nests",
            session=thread.session,
            seen_at=2_000.0,
        ),
        ChatRow(
            address=Address(platform="telegram", chat="1", account="telegram:bot"),
            name="Owl Watch",
            session=thread.session,
            seen_at=1_000.0,
        ),
    ]
    [latest] = await store.library.chats(limit=1)
    assert latest.address.thread == "7"


async def test_a_chat_is_seen_to_within_the_hour(store: Store) -> None:
    await accept(store, placed(0, "1", "Owls", 10_000.0))
    await accept(store, placed(1, "1", "Owls", 10_000.0 + HOUR_S / 2))
    [row] = await store.library.chats(limit=9)
    assert 10_000.0 <= row.seen_at <= 10_000.0 + HOUR_S / 2
    await accept(store, placed(2, "1", "Owls", 10_000.0 + 3 * HOUR_S))
    [row] = await store.library.chats(limit=9)
    assert row.seen_at == 10_000.0 + 3 * HOUR_S


async def test_a_chat_that_is_renamed_is_known_by_its_new_name(store: Store) -> None:
    await accept(store, placed(0, "1", "Owls", 10_000.0))
    await accept(store, placed(1, "1", "Swifts", 10_001.0))
    await accept(store, replace(placed(2, "1", "", 10_002.0)))
    [row] = await store.library.chats(limit=9)
    assert row.name == "Swifts"


async def test_a_chat_of_many_lanes_is_listed_once_with_the_last_of_them(store: Store) -> None:
    for number, user in enumerate(("ann", "bob", "ann", "bob", "ann")):
        await accept(store, placed(number, "1", "Owls", 10_000.0 + number, user=user))
    [row] = await store.library.chats(limit=9)
    ann, bob = (session_key("telegram", "group", "1", user) for user in ("ann", "bob"))
    assert (row.name, row.session) == ("Owls", ann)
    assert await store.library.delete(ann)
    [row] = await store.library.chats(limit=9)
    assert (row.name, row.session) == ("Owls", bob), "bob's lane is still there"
    assert await store.library.delete(bob)
    assert await store.library.chats(limit=9) == []


async def test_many_messages_at_once_make_one_entry(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    await asyncio.gather(
        *(
            accept(stores[number % 2], placed(number, "1", "Owls", 10_000.0, user=f"u{number % 5}"))
            for number in range(40)
        )
    )
    assert [row.name for row in await stores[0].library.chats(limit=9)] == ["Owls"]


async def test_any_name_can_be_in_the_directory(store: Store) -> None:
    odd = "quote ' \" \\ 🦉 %s \t"
    await accept(store, placed(0, "1", odd, 1.0))
    [row] = await store.library.chats(limit=9)
    assert row.name == odd


# ── homes ───────────────────────────────────────────────────────────────────────────────────────


def home(platform: str, chat: str) -> Address:
    return Address(platform=platform, chat=chat, account=f"{platform}:bot")


async def test_the_last_home_of_a_platform_counts(store: Store) -> None:
    await store.nodes.join(A)
    assert await store.library.homes() == []
    x, y = await begin(store, A, "x"), await begin(store, A, "y")
    await x.write(e.HomeSet(home("telegram", "x"), 10.0), e.FactSet("note", "later", 15.0))
    await x.write(e.HomeSet(home("discord", "x"), 20.0))
    assert await store.library.homes() == [
        Home(address=home("discord", "x"), at=20.0),
        Home(address=home("telegram", "x"), at=10.0),
    ]
    await y.write(e.HomeSet(home("telegram", "w"), 29.0), e.HomeSet(home("telegram", "y"), 30.0))
    assert await store.library.homes() == [
        Home(address=home("telegram", "y"), at=30.0),
        Home(address=home("discord", "x"), at=20.0),
    ]


async def test_the_home_of_a_deleted_session_is_the_one_before_it(store: Store) -> None:
    await store.nodes.join(A)
    x, y = await begin(store, A, "x"), await begin(store, A, "y")
    await x.write(e.HomeSet(home("telegram", "x"), 10.0), rests=True)
    await y.write(e.HomeSet(home("telegram", "y"), 20.0), rests=True)
    assert await store.library.delete(lane("y"))
    assert [each.address.chat for each in await store.library.homes()] == ["x"]
    assert await store.library.delete(lane("x"))
    assert await store.library.homes() == []


# ── at a glance ─────────────────────────────────────────────────────────────────────────────────


async def test_the_store_at_a_glance(store: Store) -> None:
    await store.nodes.join(A)
    counts = await store.library.counts()
    assert (counts.sessions, counts.running, counts.asking, counts.suspended) == (0, 0, 0, 0)
    assert (counts.queued, counts.marks, counts.outbox, counts.outbox_oldest_at) == (
        0,
        {},
        {},
        None,
    )
    for chat in ("r1", "r2", "a1", "s1", "i1"):
        owner = await begin(store, A, chat)
        await owner.start(chat)
        match chat[0]:
            case "a":
                await ask(owner, chat)
            case "s":
                await owner.write(e.SessionSuspended("three times", 9.0))
            case "i":
                await owner.finish(chat)
                await owner.rest()
    await (await own(store, A, "r1")).write(e.TurnMarked(turn("r1"), "restart_timeout", 9.0))
    for number in (1, 2):
        await store.journal.accept(message(number, "r2"), opens=conversation("r2"))
    await store.journal.accept(message(1, "new"), opens=conversation("new"))
    counts = await store.library.counts()
    assert (counts.sessions, counts.running, counts.asking, counts.suspended) == (6, 2, 1, 1)
    assert (counts.queued, counts.marks) == (3, {"restart_timeout": 1})
    assert (counts.outbox, counts.outbox_oldest_at) == ({"pending": 2}, 3.0)
    await store.library.rebuild()
    assert await store.library.counts() == counts


async def test_counts_follow_what_becomes_of_replies_and_sessions(store: Store) -> None:
    await store.nodes.join(A)
    for number, chat in enumerate(("x", "y", "z", "w")):
        owner = await begin(store, A, chat)
        await owner.start(chat)
        await owner.finish(chat, at=10.0 + number)
        await owner.rest()
    assert await store.outbox.sending(reply("x").id, node=A)
    await store.outbox.delivered(reply("x").id, "m", at=5.0)
    assert await store.outbox.sending(reply("y").id, node=A)
    await store.outbox.failed(reply("y").id, "no", not_before=0.0, abandon=True)
    assert await store.outbox.sending(reply("z").id, node=A)
    counts = await store.library.counts()
    assert counts.outbox == {"abandoned": 1, "sending": 1, "pending": 1}
    assert counts.outbox_oldest_at == 12.0, "what was given up waits no more"
    for left, chat in ((3, "w"), (2, "x"), (1, "y"), (0, "z")):
        assert await store.library.delete(lane(chat))
        assert (await store.library.counts()).sessions == left
    assert (await store.library.counts()).outbox == {}
    await begin(store, A, "again")
    counts = await store.library.counts()
    assert (counts.sessions, counts.queued) == (1, 1)
