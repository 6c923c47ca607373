"""What a channel missed: read oldest first, bounded, and what is left out is told once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.channels.kit.arrival import Arrival
from hermes.channels.kit.catch_up import (
    DAY_S,
    CatchUp,
    LeftOut,
    MissedBacklog,
    MissedChat,
    MissedMessage,
    notice_text,
)
from hermes.core.channel import ChannelHost
from hermes.core.errors import ChannelRefused
from hermes.core.events import MessageReceived
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.store import Store
from hermes.testing.hosts import FakeHost
from hermes.testing.house import Wiring, house
from tests.doubles.plaza import Plaza

NOW = time.time()
OLD = NOW - 8 * DAY_S
WAIT_S = 60.0
PAGE = 3


def missed(chat: str, number: int, at: float = NOW, *, ours: bool = True) -> MissedMessage:
    inbound = Inbound(
        id=MessageId(f"{chat}-{number}"),
        account="bot",
        session=chat_key("plaza", "dm", chat),
        sender=Person(id="ann"),
        address=Address(platform="plaza", chat=chat),
        text=f"{chat}-{number}",
        at=at,
    )
    return MissedMessage(
        f"{number:04}", at, Arrival(inbound=inbound, private=True) if ours else None
    )


@dataclass
class Archive(Plaza):
    """A platform that shows the history of its chats, in pages."""

    chats_missed: dict[str, list[MissedMessage]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    most: int = 4
    new: set[str] = field(default_factory=set)  # chats that have no cursor yet
    has_home: bool = True
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def after(self, chat: MissedChat, position: str) -> Sequence[MissedMessage]:
        if chat.cursor in self.refused:
            raise ChannelRefused("no permission")
        return [each for each in self.chats_missed[chat.cursor] if each.position > position][:PAGE]

    async def listen(self, door: ChannelHost) -> None:
        self.door = door
        door.connected()
        if self.has_home:
            await self.say(1, "/sethome", chat="home")
        for _ in range(6_000 if self.has_home else 0):
            if await door.store.library.homes():
                break
            await asyncio.sleep(0.01)
        await self.catch_up(door)
        self.caught_up.set()
        await asyncio.Event().wait()

    async def catch_up(self, door: ChannelHost) -> None:
        for cursor in self.chats_missed:
            if cursor not in self.new and not await door.cursor("bot", cursor):
                await door.move_cursor("bot", cursor, "0000")
        catch_up = CatchUp(
            host=door,
            account="bot",
            platform="the plaza",
            history=self,
            take=lambda arrival: door.accept(arrival.inbound),
            messages_max=self.most,
        )
        await catch_up.run([MissedChat(name, f"Chat {name}") for name in self.chats_missed])


async def stored(store: Store, chat: str) -> list[str]:
    """What was accepted for this chat, in order."""
    events = await store.library.events(chat_key("plaza", "dm", chat), after=0, limit=5_000)
    return [each.inbound.text for each in events if isinstance(each, MessageReceived)]


async def told(store: Store) -> list[str]:
    return [text for text in await stored(store, "home") if text != "/sethome"]


async def caught_up(home: Path, archive: Archive) -> tuple[list[str], list[str], list[str]]:
    """Run it to its end: what the owner was told, and what was taken of both chats."""
    async with house(home, archive) as inside:
        await asyncio.wait_for(archive.caught_up.wait(), WAIT_S)
        store = inside.store
        return await told(store), await stored(store, "a"), await stored(store, "b")


def names(chat: str, *numbers: int) -> list[str]:
    return [f"{chat}-{number}" for number in numbers]


def backlog_of_both(a: str = "a", b: str = "b") -> dict[str, list[MissedMessage]]:
    """Two too old and two too many in one chat, one too old in the other."""
    first = [missed(a, n, OLD if n < 3 else NOW) for n in range(1, 9)]
    return {a: first, b: [missed(b, 1, OLD), missed(b, 2)]}


def as_host(host: FakeHost) -> ChannelHost:
    return cast("ChannelHost", host)


async def test_what_was_missed_is_read_oldest_first_and_nothing_is_told(tmp_path: Path) -> None:
    archive = Archive(chats_missed={"a": [missed("a", n) for n in range(1, 9)]}, most=8)
    assert await caught_up(tmp_path, archive) == ([], names("a", *range(1, 9)), [])


async def test_what_is_too_old_or_too_much_is_counted_and_told_in_one_message(
    tmp_path: Path,
) -> None:
    said, a, b = await caught_up(tmp_path, Archive(chats_missed=backlog_of_both()))
    assert (a, b) == (names("a", 5, 6, 7, 8), names("b", 2))
    assert len(said) == 1
    assert "5 messages waited longer" in said[0]
    assert "Chat a: 4 messages\n• Chat b: 1 message\n" in said[0]


async def test_a_second_start_reads_on_and_tells_nothing_again(tmp_path: Path) -> None:
    await caught_up(tmp_path, Archive(chats_missed=backlog_of_both()))
    later = backlog_of_both()
    later["a"].append(missed("a", 9))
    said, a, _ = await caught_up(tmp_path, Archive(chats_missed=later))
    assert (len(said), a) == (1, names("a", 5, 6, 7, 8, 9))


async def test_a_chat_without_a_cursor_is_new_and_not_read(tmp_path: Path) -> None:
    archive = Archive(chats_missed=backlog_of_both(), new={"a"})
    said, a, b = await caught_up(tmp_path, archive)
    assert (a, b) == ([], names("b", 2))
    assert "1 message waited" in said[0]


async def test_without_a_home_chat_the_count_waits_for_one(tmp_path: Path) -> None:
    said, *_ = await caught_up(tmp_path, Archive(chats_missed=backlog_of_both(), has_home=False))
    assert said == []
    said, *_ = await caught_up(tmp_path, Archive(chats_missed=backlog_of_both()))
    assert len(said) == 1
    assert "5 messages" in said[0]


async def test_a_chat_that_is_refused_does_not_keep_the_others_from_being_read(
    tmp_path: Path,
) -> None:
    archive = Archive(chats_missed=backlog_of_both(), refused={"a"})
    said, a, b = await caught_up(tmp_path, archive)
    assert (len(said), a, b) == (1, [], names("b", 2))
    said, a, b = await caught_up(tmp_path, Archive(chats_missed=backlog_of_both()))
    assert (len(said), a) == (2, names("a", 5, 6, 7, 8)), "nothing of it was lost meanwhile"


async def test_what_is_not_for_us_is_passed_and_not_counted(tmp_path: Path) -> None:
    talk = [missed("a", n, OLD, ours=False) for n in range(1, 20)]
    archive = Archive(chats_missed={"a": [*talk, missed("a", 20)]})
    async with house(tmp_path, archive) as inside:
        await asyncio.wait_for(archive.caught_up.wait(), WAIT_S)
        assert await told(inside.store) == []
        assert await inside.door.cursor("bot", "a") == "0020"


class _Death:
    """Die before the given write reaches the store, which is after the one before it."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.died = asyncio.Event()

    def change(self, host: FakeHost) -> FakeHost:
        accept, move_cursor = self._deadly(host.accept), self._deadly(host.move_cursor)
        return replace(host, accept=accept, move_cursor=move_cursor)

    def _deadly(self, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def write(*given: object) -> object:
            self.left -= 1
            if self.left == 0:
                self.died.set()
                await asyncio.Event().wait()
            return await act(*given)

        return write

    async def strikes(self, work: Coroutine[None, None, None]) -> bool:
        """Run it until it dies, or to its end."""
        task, died = asyncio.create_task(work), asyncio.create_task(self.died.wait())
        done, _ = await asyncio.wait(
            {task, died}, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED
        )
        assert done
        for each in (task, died):
            each.cancel()
        await asyncio.wait({task, died})
        return self.died.is_set()


async def test_dead_at_any_write_nothing_is_lost_and_the_owner_is_told_once(
    tmp_path: Path,
) -> None:
    archive = Archive()
    async with house(tmp_path, archive) as inside:
        await asyncio.wait_for(archive.caught_up.wait(), WAIT_S)
        for write in range(1, 100):
            a, b = f"a{write}", f"b{write}"
            archive.chats_missed = backlog_of_both(a, b)
            death = _Death(write)
            died = await death.strikes(archive.catch_up(as_host(death.change(inside.door))))
            await archive.catch_up(as_host(inside.door))
            taken = await stored(inside.store, a), await stored(inside.store, b)
            assert taken == (names(a, 5, 6, 7, 8), names(b, 2)), f"died at write {write}"
            said = [text for text in await told(inside.store) if f"Chat {a}:" in text]
            assert len(said) == 1, f"died at write {write}"
            assert f"Chat {a}: 4 messages\n• Chat {b}: 1 message\n" in said[0]
            assert len(await told(inside.store)) == write
            if not died:
                break
        assert 15 < write < 99


async def test_a_new_process_goes_on_where_a_dead_one_stopped(tmp_path: Path) -> None:
    death, archive = _Death(13), Archive(chats_missed=backlog_of_both())
    async with house(tmp_path, archive, wiring=Wiring(change=death.change)):
        await asyncio.wait_for(death.died.wait(), WAIT_S)
    said, a, b = await caught_up(tmp_path, Archive(chats_missed=backlog_of_both()))
    assert (a, b) == (names("a", 5, 6, 7, 8), names("b", 2))
    assert len(said) == 1
    assert "5 messages waited" in said[0]


async def test_a_person_who_wrote_much_is_waited_for_instead_of_refused(tmp_path: Path) -> None:
    answers = [True, False, True]
    change = Wiring(change=lambda host: replace(host, patient=lambda _: answers.pop(0)))
    archive = Archive(chats_missed={"a": [missed("a", 1), missed("a", 2)]})
    async with house(tmp_path, archive, wiring=change) as inside:
        await asyncio.wait_for(archive.caught_up.wait(), WAIT_S)
        assert await stored(inside.store, "a") == names("a", 1, 2)
        assert answers == []


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40),
    st.integers(1, 6),
    st.integers(1, 7),
)
def test_each_message_for_us_is_kept_or_counted_and_the_kept_are_the_newest(
    shape: list[tuple[bool, bool]], most: int, page: int
) -> None:
    history = [
        missed("a", n, OLD if old else NOW, ours=ours) for n, (old, ours) in enumerate(shape)
    ]
    backlog = MissedBacklog(since=NOW - 7 * DAY_S, most=most)
    for start in range(0, len(history), page):
        backlog.add(history[start : start + page])
    for_us = [each for each in history if each.arrival is not None]
    kept = list(backlog.kept)
    assert backlog.left_out + len(kept) == len(for_us)
    assert kept == for_us[backlog.left_out :]
    assert len(kept) <= most
    assert not kept or len(kept) == most or kept[0].at == NOW
    assert backlog.through == (for_us[backlog.left_out - 1].position if backlog.left_out else "")


def test_a_notice_names_ten_chats_and_sums_up_the_others() -> None:
    chats = [LeftOut(2, "", f"Chat\n{n}") for n in range(12)]
    text = notice_text("Discord", chats, days=7, messages=500)
    assert "24 messages" in text
    assert "• Chat 9: 2 messages\n• 2 more chats: 4 messages\n" in text
    assert "Chat 10" not in text
