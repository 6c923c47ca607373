"""A chat beside a gateway sees its session: each event once, each reply until somebody saw it."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as replace_field

from hermes.channels.local.connections import NOBODY, LocalConnections
from hermes.channels.local.sockets import connected
from hermes.channels.local.wire import LINE_BYTES_MAX
from hermes.core import events as e
from hermes.core.errors import ChannelBusy, ChannelDown, Rejected
from hermes.core.ids import ReplyId, SessionKey
from hermes.core.messages import Address, Reply
from unit.channels.local.house import KEY, House, Watched, house, message, slow

ADDRESS = Address(platform="local", chat="main")


async def watched(
    place: House, after: int | None = None, *, live: bool = False, shows: bool = True
) -> Watched:
    attached = await place.chat()
    await attached.follow(KEY, after, live=live)
    return Watched(attached, shows=shows)


def ended(watch: Watched) -> bool:
    return any(isinstance(event, e.TurnEnded) for _, event in watch.events)


async def test_the_answer_is_streamed_and_then_delivered_once(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        watch = await watched(place, live=True)
        other = await place.chat()
        await other.say(message("hello"))
        await watch.until(lambda w: len(w.replies) == 1)
        assert watch.text == "You said: "  # the event brings the last word
        assert watch.replies[0].text == "You said: hello"
        assert watch.order.index("TurnStarted") < watch.order.index("text")
        assert watch.order.index("TurnEnded") < watch.order.index("reply")
        await other.deliver(KEY)
        rows = await place.store.outbox.rows(KEY, limit=10)
        assert [row.state for row in rows] == ["delivered"]
        await watch.end()
        await other.close()


async def test_events_come_in_order_none_twice_and_none_missed(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        await place.answered("one")
        whole = await watched(place, after=0)
        late = await watched(place, after=2)
        now = await watched(place)
        for n in range(5):
            await place.gateway.accept(message(f"more {n}"))
        await place.gateway.settle(KEY)
        events = await place.store.journal.since(KEY, 0)
        last = len(events)
        for watch in (whole, late, now):
            await watch.until(lambda w: bool(w.events) and w.events[-1][0] == last)
        assert whole.events == list(enumerate(events, start=1))
        assert late.events == whole.events[2:]
        assert now.events == whole.events[-len(now.events) :]
        for watch in (whole, late, now):
            await watch.end()


async def test_what_another_process_wrote_is_seen_too(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        watch = await watched(place)
        await place.store.journal.accept(message("from elsewhere"), opens=place.door.new_id())
        await watch.until(lambda w: len(w.events) == 1, 5)
        await watch.end()


async def test_saying_it_again_is_the_same_message(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        attached = await place.chat()
        said = message("hello")
        first, again = await attached.say(said), await attached.say(said)
        assert (first.fresh, again.fresh) == (True, False)
        assert (first.key, first.position) == (again.key, again.position)
        await attached.close()


async def test_a_chat_is_nobody_else(tmp_path: Path) -> None:
    elsewhere = Address(platform="telegram", chat="1")
    async with house(tmp_path) as place:
        attached = await place.chat()
        for forged in (
            replace(message("hello"), account="telegram"),
            replace(message("hello"), address=elsewhere),
            replace(message("hello"), origin="schedule"),
            message(" "),
        ):
            with pytest.raises(Rejected):
                await attached.say(forged)
        passed_on = replace(message("hello"), address=elsewhere, origin="relay")
        assert (await attached.say(passed_on)).fresh
        await attached.close()


async def test_a_reply_waits_until_somebody_looks(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        await place.answered("hello")
        await place.gateway.deliver(KEY)
        (row,) = await place.store.outbox.rows(KEY, limit=10)
        assert (row.state, row.problem) == ("failed", NOBODY)
        watch = await watched(place)
        await watch.until(lambda w: len(w.replies) == 1, 5)
        await watch.end()


async def test_a_reply_that_was_not_acknowledged_is_shown_to_the_next_chat(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        await place.answered("hello")
        blind = await watched(place, shows=False)
        await blind.until(lambda w: len(w.replies) == 1)
        await blind.end()
        watch = await watched(place)
        await watch.until(lambda w: len(w.replies) == 1, 5)
        await watch.end()


async def test_all_who_look_see_it_and_one_acknowledgement_is_enough(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        blind, seeing = await watched(place, shows=False), await watched(place)
        await place.answered("hello")
        for watch in (blind, seeing):
            await watch.until(lambda w: len(w.replies) == 1, 5)
        attached = await place.chat()
        await attached.deliver(KEY)
        (row,) = await place.store.outbox.rows(KEY, limit=10)
        assert row.state == "delivered"
        for watch in (blind, seeing):
            await watch.end()
        await attached.close()


async def test_whoever_comes_while_a_reply_waits_to_be_seen_sees_it(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        blind = await watched(place, shows=False)
        await place.answered("hello")
        await blind.until(lambda w: len(w.replies) == 1, 5)
        seeing = await watched(place)
        await seeing.until(lambda w: len(w.replies) == 1, 5)
        await blind.end()
        await seeing.end()


async def test_what_a_turn_did_is_told(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        await place.answered("hello")
        attached = await place.chat()
        (turn,) = await place.store.library.turns(limit=5)
        session_id, row, steps = await attached.outcome(KEY, turn.id)
        assert session_id == (await place.store.journal.load(KEY)).id
        assert row == turn
        assert [(step.kind, step.state) for step in steps] == [("model", "finished")]
        assert (await attached.outcome(KEY, None))[1:] == (None, ())
        await attached.close()


async def test_the_gateway_tells_how_it_is(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        attached = await place.chat()
        status = await attached.status()
        assert (status.pid, status.counts.sessions) == (os.getpid(), 0)
        await attached.close()


async def test_a_chat_that_leaves_does_not_stop_the_turn(tmp_path: Path) -> None:
    async with house(tmp_path, slow(0.3)) as place:
        watch = await watched(place, live=True)
        await place.gateway.accept(message("hello"))
        await watch.until(lambda w: "TurnStarted" in w.order)
        await watch.end()
        back = await watched(place, after=0)
        await back.until(ended)
        await back.until(lambda w: len(w.replies) == 1)
        await back.end()


async def test_a_chat_hears_that_its_gateway_is_gone(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        attached = await place.chat()
        waiting = asyncio.create_task(attached.next())
        await asyncio.sleep(0.05)
    with pytest.raises(ChannelDown):
        await waiting
    with pytest.raises(ChannelDown):
        await attached.say(message("hello"))
    await attached.close()
    assert not (tmp_path / "gateway.sock").exists()


async def test_nonsense_ends_one_visit_and_no_other(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        watch = await watched(place)
        for nonsense in (b"\x00\xff\n", b"{}\n", b'{"type":"follow"}\n', b"[" * 5000 + b"\n"):
            reader, writer = await connected(place.path)
            assert b"hello" in await reader.readline()
            writer.write(nonsense)
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()
            await writer.wait_closed()
        await place.answered("hello")
        await watch.until(lambda w: len(w.replies) == 1, 5)
        await watch.end()


async def pour(writer: asyncio.StreamWriter, size: int) -> None:
    for _ in range(size // 1_000_000):
        writer.write(b"x" * 1_000_000)
        await writer.drain()
        await asyncio.sleep(0)


async def test_a_line_without_end_is_not_kept(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        reader, writer = await connected(place.path)
        await reader.readline()
        with pytest.raises(ConnectionError):
            await pour(writer, 3 * LINE_BYTES_MAX)
        writer.close()
        attached = await place.chat()
        await attached.close()


async def test_the_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        mode = place.path.stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600


async def test_a_home_with_a_long_name_has_its_socket_too(tmp_path: Path) -> None:
    home = tmp_path / ("a-long-name-" * 12)
    home.mkdir()
    async with house(home) as place:
        attached = await place.chat()
        assert (await attached.say(message("hello"))).fresh
        await attached.close()
        assert stat.S_ISSOCK(place.path.stat().st_mode)


async def test_nobody_is_shown_nothing_by_a_crowd_that_is_none() -> None:
    reply = Reply(id=ReplyId("t/0"), session=KEY, address=ADDRESS, text="hello")
    with pytest.raises(ChannelBusy):
        await LocalConnections().show(reply, "hello", "t/0.0")


async def test_deliveries_of_one_session_do_not_cross(tmp_path: Path) -> None:
    async with house(tmp_path) as place:
        at_once = most = 0

        async def deliver(_key: SessionKey) -> None:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.01)
            at_once -= 1

        crowd, door = LocalConnections(), replace_field(place.door, deliver=deliver)
        await asyncio.gather(*(crowd.deliver(KEY, door) for _ in range(5)))
        assert most == 1
