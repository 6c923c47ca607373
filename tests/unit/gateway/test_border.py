"""A channel may break in any way that its library knows: the gateway hears of it by a name."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused, ChannelSilent, StoreFull
from hermes.core.ids import NodeId, ReplyId, session_key
from hermes.core.messages import Address, Media, Reply
from hermes.gateway.border import GuardedChannel, GuardedScreen
from hermes.gateway.process_state import ProcessState
from tests.doubles.plaza import Plaza

CHAT = Address(platform="plaza", chat="1")
REPLY = Reply(id=ReplyId("r"), session=session_key("plaza", "dm", "1"), address=CHAT, text="x")
FILE = Media(digest="d", media_type="text/plain", name="f")
FAULTS = (KeyError("result"), TypeError("no"), AttributeError("get"), RuntimeError("a token?"))
ACTS: dict[str, Callable[[GuardedChannel, GuardedScreen], Awaitable[object]]] = {
    "send": lambda channel, _screen: channel.send(REPLY, "x", key="k"),
    "draft": lambda _channel, screen: screen.draft(CHAT, "x"),
    "redraft": lambda _channel, screen: screen.redraft(CHAT, "1", "x"),
    "change": lambda _channel, screen: screen.change(REPLY, "1", "x"),
    "attach": lambda _channel, screen: screen.attach(REPLY, FILE, b"x", key="k"),
}


def guarded(plaza: Plaza, process: ProcessState) -> tuple[GuardedChannel, GuardedScreen]:
    note = process.note_send
    return GuardedChannel(plaza, note), GuardedScreen("plaza", plaza, note)


def at_one() -> ProcessState:
    return ProcessState(lambda: 1.0, "0", "sqlite", NodeId("n"))


@pytest.mark.parametrize("act", ACTS)
async def test_whatever_a_channel_raises_is_a_doubtful_failure(act: str) -> None:
    plaza, process = Plaza(), at_one()
    sides = guarded(plaza, process)
    for fault in FAULTS:
        plaza.failures = [fault]
        with pytest.raises(ChannelSilent, match=type(fault).__name__) as caught:
            await ACTS[act](*sides)
        assert "token" not in str(caught.value), "a library's words stay in the log"
    plaza.chats["1"] = {"1": "x"}
    await ACTS[act](*sides)


async def test_errors_of_ours_and_a_cancellation_pass_as_they_are() -> None:
    plaza, process = Plaza(), at_one()
    channel, screen = guarded(plaza, process)
    for error in (ChannelBusy("slow", delay_s=3), ChannelRefused("no"), StoreFull("full")):
        plaza.failures = [error]
        with pytest.raises(type(error)):
            await channel.send(REPLY, "x", key="k")
        assert process.failing == {}, "that is no fault of the platform"

    async def known(_receipt: str) -> bool:
        await asyncio.get_running_loop().create_future()
        return True

    plaza.chats["1"] = {"5": "x"}
    look = asyncio.create_task(screen.find(REPLY.address, ["x"], behind="1", known=known))
    await asyncio.sleep(0)
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look


def test_a_text_that_cannot_be_rendered_is_refused_for_good() -> None:
    class Odd(Plaza):
        def render(self, text: str) -> list[str]:
            return [text[len(text)]]

    channel, _ = guarded(Odd(), at_one())
    with pytest.raises(ChannelRefused, match="IndexError"):
        channel.render("x")


async def test_a_send_that_fails_is_noted_until_one_gets_through() -> None:
    plaza, process = Plaza(), at_one()
    channel, _screen = guarded(plaza, process)
    for why in ("gone", "still gone"):
        plaza.failures = [ChannelDown(why, delay_s=1)]
        with pytest.raises(ChannelDown):
            await channel.send(REPLY, "x", key="k")
    assert process.failing == {"plaza": (1.0, "still gone")}
    await channel.send(REPLY, "x", key="k")
    assert process.failing == {}
