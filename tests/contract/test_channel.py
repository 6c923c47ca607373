"""The laws that every channel keeps. Each runs on every adapter of `channels.py`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.core import events as e
from hermes.core.errors import StoreBusy
from hermes.core.messages import Inbound
from hermes.core.ports import Answer, ModelRequest
from hermes.core.store import Accepted, Store
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost
from hermes.testing.house import House, Wiring, house
from tests.contract.channels import ADAPTERS, PATIENCE_S, ChannelAdapter, TelegramAdapter, rested

Change = Callable[[FakeHost], FakeHost]


class Bench:
    """One platform, and every gateway that a test runs on it."""

    def __init__(self, adapter: ChannelAdapter) -> None:
        self.adapter = adapter
        self.asked: list[str] = []  # what the model was asked

    @asynccontextmanager
    async def running(
        self, change: Change = lambda host: host, *, ack_s: float = 0.0
    ) -> AsyncIterator[House]:
        """A gateway from its start to its sudden end: it says goodbye to nobody."""
        channel = self.adapter.make()
        rule, role = self._answer, self.adapter.role
        wiring = Wiring(change=change, screens=self.adapter.screens, ack_s=ack_s)
        async with house(self.adapter.home, channel, rule, role=role, wiring=wiring) as inside:
            self.adapter.listening = inside.listening
            yield inside
        await self.adapter.close()

    async def said(self, store: Store) -> list[str]:
        """Every message that was stored for the chat, in its order."""
        events = await store.journal.since(self.adapter.key, 0)
        return [each.inbound.text for each in events if isinstance(each, e.MessageReceived)]

    def _answer(self, request: ModelRequest) -> Answer:
        said = [line.text for line in request.lines if line.role == "user"][-1]
        self.asked.append(said)
        return Answer(text=f"You said: {said}")


@pytest.fixture(params=ADAPTERS, ids=lambda made: made.__name__.removesuffix("Adapter").lower())
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    adapter: ChannelAdapter = request.param(tmp_path)
    async with adapter.up():
        yield Bench(adapter)


def failing(times: int, *, after_commit: bool) -> Change:
    """A host whose store breaks so often: before it has the message, or right behind."""
    left = [times]

    def change(host: FakeHost) -> FakeHost:
        async def accept(inbound: Inbound) -> Accepted:
            if left[0] and not after_commit:
                left[0] -= 1
                raise StoreBusy("a test holds the file")
            accepted = await host.accept(inbound)
            if left[0]:
                left[0] -= 1
                raise StoreBusy("it was stored, and the process died")
            return accepted

        return msgspec.structs.replace(host, accept=accept)

    return change


async def test_a_message_is_acknowledged_only_after_the_commit(bench: Bench) -> None:
    async with bench.running(failing(1, after_commit=False)) as inside:
        assert not await bench.adapter.deliver("1", "hello")
        assert await bench.said(inside.store) == []
    async with bench.running() as inside:
        if not bench.adapter.redelivers:
            assert await bench.adapter.deliver("1", "hello")
        await until_said(bench, inside, 1)


async def test_c96_a_store_slower_than_the_platform_waits_is_a_refusal_and_one_turn(
    bench: Bench,
) -> None:
    """The platform hears no while the store still works, and repeats the message."""
    if not bench.adapter.make().manifest.ack_s:
        return  # this platform waits
    stored = asyncio.Event()

    def slow(host: FakeHost) -> FakeHost:
        async def accept(inbound: Inbound) -> Accepted:
            await stored.wait()
            return await host.accept(inbound)

        return msgspec.structs.replace(host, accept=accept)

    async with bench.running(slow, ack_s=0.3) as inside:
        assert not await bench.adapter.deliver("1", "hello")
        stored.set()
        assert await bench.adapter.deliver("1", "hello")
        await rested(inside, bench.adapter.key)
        assert len(await bench.said(inside.store)) == 1
        assert len(bench.asked) == 1


async def test_killed_between_accept_and_acknowledgement_it_is_one_turn(bench: Bench) -> None:
    async with bench.running(failing(1, after_commit=True)):
        await bench.adapter.deliver("1", "hello")
    async with bench.running() as inside:
        await bench.adapter.deliver("1", "hello")
        await rested(inside, bench.adapter.key)
        assert len(await bench.said(inside.store)) == 1
        assert len(await inside.store.library.turns(limit=10)) == 1


async def test_delivered_twice_it_is_one_turn_also_after_a_restart(bench: Bench) -> None:
    async with bench.running() as inside:
        for _ in range(2):
            assert await bench.adapter.deliver("1", "hello")
        await rested(inside, bench.adapter.key)
    async with bench.running() as inside:
        assert await bench.adapter.deliver("1", "hello")
        await rested(inside, bench.adapter.key)
        assert len(await bench.said(inside.store)) == 1
        assert len(bench.asked) == 1


async def test_messages_of_a_chat_keep_their_order(bench: Bench) -> None:
    async with bench.running() as inside:
        for n in range(5):
            assert await bench.adapter.deliver(str(n), f"number {n}")
        said = await bench.said(inside.store)
    assert [text[-8:] for text in said] == [f"number {n}" for n in range(5)]


async def test_a_stranger_costs_no_model_and_no_place_in_the_store(bench: Bench) -> None:
    async with bench.running() as inside:
        for _ in range(2):
            assert not await bench.adapter.deliver_stranger("let me in")
        assert await bench.said(inside.store) == []
        assert await inside.store.library.sessions(limit=5) == []
    assert bench.asked == []


async def test_each_reply_has_one_receipt_and_is_sent_once(bench: Bench) -> None:
    async with bench.running() as inside:
        assert await bench.adapter.deliver("1", "hello")
        await rested(inside, bench.adapter.key)
        manifest = inside.gateway.delivery.channels[platform(bench)].manifest
        if not manifest.attended and not manifest.fetched:
            await inside.gateway.deliver(bench.adapter.key)
            (row,) = await inside.store.outbox.rows(bench.adapter.key, limit=5)
            assert (row.state, bool(row.receipt)) == ("delivered", True)


async def test_what_came_while_nobody_was_there_is_taken_oldest_first(bench: Bench) -> None:
    adapter = bench.adapter
    if not isinstance(adapter, TelegramAdapter):
        pytest.skip("this platform keeps nothing: its clients repeat")
    for n in range(30):
        adapter.api.say(f"number {n}")
    async with bench.running() as inside:
        await until_said(bench, inside, 30)
        assert await bench.said(inside.store) == [f"number {n}" for n in range(30)]


async def test_a_connection_that_breaks_is_begun_again_and_nothing_is_lost(bench: Bench) -> None:
    adapter = bench.adapter
    if not isinstance(adapter, TelegramAdapter):
        pytest.skip("this channel is called: it keeps no connection")
    for kind in ("cut", "error", "garbage"):
        adapter.api.fault("getUpdates", kind)
    adapter.api.say("hello")
    async with bench.running() as inside:
        await until_said(bench, inside, 1)


async def test_killed_between_send_and_receipt_one_answer_is_seen(bench: Bench) -> None:
    adapter = bench.adapter
    if not isinstance(adapter, TelegramAdapter):
        pytest.skip("people come here for their replies: nothing is sent")
    async with bench.running() as inside:
        assert await adapter.deliver("1", "hello")
        await rested(inside, adapter.key)
        adapter.api.fault("sendMessage", "lost")
        await inside.gateway.deliver(adapter.key)
    async with bench.running() as inside:
        await inside.store.outbox.at_once(["telegram"])
        async with asyncio.timeout(PATIENCE_S):
            while (await row_state(inside, adapter)) != "delivered":
                await inside.gateway.deliver(adapter.key)
                await asyncio.sleep(0.05)
    assert adapter.api.texts() == ["You said: hello"]


async def test_a_pause_that_the_platform_asked_for_holds_after_a_restart(bench: Bench) -> None:
    adapter = bench.adapter
    if not isinstance(adapter, TelegramAdapter):
        pytest.skip("nothing is sent here")
    async with bench.running() as inside:
        assert await adapter.deliver("1", "hello")
        await rested(inside, adapter.key)
        adapter.api.fault("sendMessage", "flood", retry_after=3600)
        await inside.gateway.deliver(adapter.key)
    sent = len(adapter.api.called("sendMessage"))
    async with bench.running() as inside:
        assert list(await inside.store.outbox.waits(now=inside.door.clock())) == [("telegram", "7")]
        await inside.gateway.deliver(adapter.key)
    assert len(adapter.api.called("sendMessage")) == sent


async def test_two_nodes_of_one_store_have_one_connection(bench: Bench) -> None:
    manifest = bench.adapter.make().manifest
    if not manifest.single:
        pytest.skip("this platform takes any number of connections")
    store = await open_sqlite(bench.adapter.home / "nodes.db", clock=lambda: 1.0)
    try:
        for node in ("a", "b"):
            await store.nodes.join(node)  # type: ignore[arg-type]
        name = f"channel:{manifest.name}"
        assert await store.nodes.hold("a", name)  # type: ignore[arg-type]
        assert not await store.nodes.hold("b", name)  # type: ignore[arg-type]
    finally:
        await store.upkeep.close()


words = st.lists(st.sampled_from(["word", "*bold*", "`code`", "@all", "_x_", "(1.)", "🙂"])).map(
    " ".join
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(words, max_size=300).map("\n".join))
def test_chunks_hold_the_whole_text_and_each_fits(bench: Bench, text: str) -> None:
    channel = bench.adapter.make()
    chunks = channel.render(text)
    manifest = channel.manifest
    assert all(len(chunk.encode("utf-16-le")) // 2 <= manifest.text_chars_max for chunk in chunks)
    read = "".join(bench.adapter.plain(chunk) for chunk in chunks)
    assert letters(read) == letters(text)


def letters(text: str) -> str:
    """What is said, whatever marks a platform needs or takes away."""
    return "".join(char for char in text if char.isalnum() or char == "🙂")


def platform(bench: Bench) -> str:
    return bench.adapter.key.split(":")[2]


async def row_state(inside: House, adapter: ChannelAdapter) -> str:
    (row,) = await inside.store.outbox.rows(adapter.key, limit=5)
    return row.state


async def until_said(bench: Bench, inside: House, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if len(await bench.said(inside.store)) >= count:
                return
            await asyncio.sleep(0.02)
