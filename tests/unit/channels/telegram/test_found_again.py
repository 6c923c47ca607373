"""C51: a send of unknown fate is found again, or nothing is touched. A Bot API on a real socket."""

from pathlib import Path

import pytest

from hermes.channels.telegram.memory import Memory
from hermes.channels.telegram.sent import WINDOW, Sent
from hermes.core.errors import ChannelDown
from hermes.core.messages import Address
from tests.unit.channels.telegram.world import World, reply, world

CHAT = Address(platform="telegram", chat="7")


async def lose(w: World, text: str, key: str) -> None:
    """It arrives, and nobody hears of it."""
    w.api.fault("sendMessage", "lost", times=1)
    with pytest.raises(ChannelDown):
        await w.channel.send(reply(text), text, key=key)


async def test_c51_what_arrived_is_found_under_its_key_and_stands_as_it_is(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.channel.send(reply("before"), "before", key="a.0")
        await lose(w, "answer", "b.0")
        receipt = await w.channel.arrived(reply("answer"), "answer", key="b.0")
        shown = w.api.chat()
    assert [one.text for one in shown] == ["before", "answer"]
    assert receipt == str(shown[-1].message_id)
    assert shown[-1].edits == 0


async def test_c51_what_never_arrived_is_not_found_and_no_other_message_is_touched(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        await w.channel.send(reply("before"), "before", key="a.0")
        w.api.fault("sendMessage", "cut", times=1)
        with pytest.raises(ChannelDown):
            await w.channel.send(reply("answer"), "answer", key="b.0")
        await w.channel.draft(CHAT, "of another turn")
        assert await w.channel.arrived(reply("answer"), "answer", key="b.0") == ""
        assert w.api.texts()[0] == "before"
        assert all(one.edits == 0 for one in w.api.chat())


async def test_c51_another_send_is_not_taken_for_it(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.channel.send(reply("before"), "before", key="a.0")
        await lose(w, "answer", "b.0")
        assert await w.channel.arrived(reply("other"), "other", key="c.0") == ""
        assert [one.text for one in w.api.chat()] == ["before", "answer"]


async def test_what_was_begun_is_known_to_the_next_process_and_what_is_known_is_left_out(
    tmp_path: Path,
) -> None:
    sent = Sent(Memory(tmp_path), alone=True)
    sent.heard("7", 20)
    await sent.ends("7", 19)
    await sent.begins("7", "b.0")
    await sent.ends("7", 22)
    again = Sent(Memory(tmp_path), alone=True)
    assert await again.perhaps("7", "b.0") == [
        number for number in range(20 + WINDOW, 20, -1) if number != 22
    ]


async def test_who_does_not_send_alone_looks_for_nothing(tmp_path: Path) -> None:
    sent = Sent(Memory(tmp_path), alone=False)
    sent.heard("7", 20)
    await sent.begins("7", "b.0")
    assert await sent.perhaps("7", "b.0") == []


async def test_a_chat_of_which_no_number_is_known_is_left_alone(tmp_path: Path) -> None:
    sent = Sent(Memory(tmp_path), alone=True)
    await sent.begins("7", "b.0")
    assert await sent.perhaps("7", "b.0") == []
