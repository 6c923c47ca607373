"""The laws that every channel keeps, on every adapter whose manifest's facts call for them.

`test_channel_kills.py` has those that speak of a kill.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.app import platforms
from hermes.core import events as e
from hermes.core.channel import Manifest
from hermes.core.errors import ChannelDown, Misconfigured, StoreBusy
from hermes.core.messages import Inbound
from hermes.core.ports import Answer, ModelRequest
from hermes.core.store import Accepted, Store
from hermes.testing.hosts import FakeHost
from hermes.testing.house import House, Wiring, house
from tests.contract.channels import PATIENCE_S, ChannelAdapter, SendingAdapter, rested, until
from tests.contract.sending_channels import ADAPTERS, named

Change = Callable[[FakeHost], FakeHost]
PINGS = "Hello @everyone, @channel and **@ada_lovelace**"


def sends(facts: Manifest) -> bool:
    """Replies are sent there; elsewhere people come for them."""
    return not facts.fetched and not facts.attended


def only(*applies: Callable[[Manifest], bool]) -> pytest.MarkDecorator:
    """Run the law on every channel to whose facts it applies."""
    found = [each for each in ADAPTERS if all(true(each.facts) for true in applies)]
    return pytest.mark.parametrize("bench", found, ids=named, indirect=True)


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
        adapter, channel = self.adapter, self.adapter.make()
        screens = adapter.screens_of(channel)
        wiring = Wiring(change=change, screens=screens, ack_s=ack_s)
        async with house(
            adapter.home,
            channel,
            self._answer,
            role=lambda sender: adapter.role_of(channel, sender),
            wiring=wiring,
        ) as inside:
            adapter.port = adapter.port_of(channel)
            adapter.alive = lambda: not inside.listening.done()
            yield inside
        await adapter.close(channel)

    async def said(self, store: Store) -> list[str]:
        """Every message that was stored for the chat, in its order."""
        events = await store.journal.since(self.adapter.key, 0)
        return [each.inbound.text for each in events if isinstance(each, e.MessageReceived)]

    def _answer(self, request: ModelRequest) -> Answer:
        said = [line.text for line in request.lines if line.role == "user"][-1]
        self.asked.append(said)
        return Answer(text=PINGS if said.endswith("ping") else f"You said: {said}")

    @property
    def chat(self) -> SendingAdapter:
        assert isinstance(self.adapter, SendingAdapter)
        return self.adapter


@pytest.fixture(params=ADAPTERS, ids=named)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    adapter: ChannelAdapter = request.param(tmp_path)
    async with adapter.up():
        yield Bench(adapter)


def failing(times: int) -> Change:
    """A host whose store breaks so often, before it has the message."""
    left = [times]

    def change(host: FakeHost) -> FakeHost:
        async def accept(inbound: Inbound) -> Accepted:
            if left[0]:
                left[0] -= 1
                raise StoreBusy("a test holds the file")
            return await host.accept(inbound)

        return msgspec.structs.replace(host, accept=accept)

    return change


async def test_a_message_is_acknowledged_only_after_the_commit(bench: Bench) -> None:
    async with bench.running(failing(1)) as inside:
        assert not await bench.adapter.deliver("1", "hello")
        assert await bench.said(inside.store) == []
    async with bench.running() as inside:
        if not bench.adapter.redelivers:
            assert await bench.adapter.deliver("1", "hello")
        await until_said(bench, inside, 1)


@only(lambda facts: facts.ack_s > 0)
async def test_c96_a_store_slower_than_the_platform_waits_is_a_refusal_and_one_turn(
    bench: Bench,
) -> None:
    """The platform hears no while the store still works, and repeats the message."""
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


async def test_a_stranger_costs_no_model_no_fetch_and_hears_one_answer_a_day(bench: Bench) -> None:
    for _ in range(2):
        async with bench.running() as inside:
            for _ in range(2):
                assert not await bench.adapter.deliver_stranger("let me in")
            assert await bench.said(inside.store) == []
            assert await inside.store.library.sessions(limit=5) == []
    assert (bench.asked, bench.adapter.fetched()) == ([], 0)
    assert len(bench.adapter.told_stranger()) <= 1, "also after a restart"


@only(sends)
async def test_each_reply_has_one_receipt_and_is_sent_once(bench: Bench) -> None:
    async with bench.running() as inside:
        assert await bench.adapter.deliver("1", "hello")
        await rested(inside, bench.adapter.key)
        for _ in range(2):
            await inside.gateway.deliver(bench.adapter.key)
        (row,) = await inside.store.outbox.rows(bench.adapter.key, limit=5)
        assert (row.state, bool(row.receipt)) == ("delivered", True)
    assert bench.chat.shown() == ["You said: hello"]


@only(sends)
async def test_the_text_of_a_model_pings_no_one(bench: Bench) -> None:
    async with bench.running() as inside:
        assert await bench.adapter.deliver("1", "ping")
        await rested(inside, bench.adapter.key)
        await inside.gateway.deliver(bench.adapter.key)
    (shown,) = bench.chat.shown()
    assert letters(shown) == letters(PINGS)
    assert bench.chat.pinged() == []


@only(sends)
@pytest.mark.parametrize("kind", ["cut", "error", "hang"])
async def test_a_connection_that_is_lost_or_half_open_is_begun_again(
    bench: Bench, kind: str
) -> None:
    """`hang` is a connection that is open and says nothing: it is given up in time."""
    bench.chat.fail_reading(kind)
    bench.chat.say("hello")
    async with asyncio.timeout(PATIENCE_S):
        while not await heard_once(bench):  # the gateway begins a receiver that ended again
            pass
    assert bench.chat.readers() > 1


@only(sends)
async def test_a_token_that_expired_is_named_and_works_when_it_is_right_again(
    bench: Bench,
) -> None:
    async with bench.running() as inside:
        bench.chat.change_token()
        await until(inside.listening.done)
        with pytest.raises((Misconfigured, ChannelDown)) as gone:
            inside.listening.result()
    assert any(word in str(gone.value).lower() for word in ("token", "ring", "unauthorized"))
    channel = bench.adapter.make()
    with pytest.raises(Misconfigured):  # a start with it says at once what is wrong
        await asyncio.wait_for(channel.listen(inside.door), PATIENCE_S)  # type: ignore[arg-type]
    await bench.adapter.close(channel)
    bench.chat.change_token()
    bench.chat.say("hello")
    async with bench.running() as inside:
        await until_said(bench, inside, 1)


def test_every_channel_of_the_program_is_here() -> None:
    """A new channel cannot be forgotten: its adapter runs these laws."""
    assert {*platforms.CHANNELS, "local"} <= {named(each) for each in ADAPTERS}


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


async def heard_once(bench: Bench) -> bool:
    """Run the channel until a message is stored, or until it says that it is down."""
    async with bench.running() as inside:
        while not inside.listening.done():
            if await bench.said(inside.store):
                return True
            await asyncio.sleep(0.02)
        assert isinstance(inside.listening.exception(), ChannelDown)
    return False


async def until_said(bench: Bench, inside: House, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if len(await bench.said(inside.store)) >= count:
                return
            await asyncio.sleep(0.02)
