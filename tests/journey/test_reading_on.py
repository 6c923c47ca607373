"""A platform that is polled by position: no message is skipped or processed twice."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles.plaza import Plaza
from tests.journey.test_serving import Model, gateway, until

from hermes.core.channel import ChannelHost


@dataclass
class Feed(Plaza):
    """The messages of a chat, oldest first. After `dies_after` it dies: the message is accepted,
    its position is not stored."""

    messages: list[str] = field(default_factory=list)
    read_from: list[int] = field(default_factory=list)
    dies_after: int = -1
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self, door: ChannelHost) -> None:
        self.door = door
        door.connected()
        position = int(await door.cursor("bot", "events") or "0")
        self.read_from.append(position)
        while True:
            for number in range(position, len(self.messages)):
                await self.say(number, self.messages[number], chat=str(number))
                if number == self.dies_after:
                    self.dead.set()
                    await asyncio.Event().wait()
                position = number + 1
                await door.move_cursor("bot", "events", str(position))
                self.moved.set()
            await asyncio.sleep(0.01)


def answers(feed: Feed) -> list[list[str]]:
    return [feed.shows(str(number)) for number in range(len(feed.messages))]


async def test_c70_a_gateway_that_died_before_the_cursor_moved_reads_again_and_answers_once(
    tmp_path: Path,
) -> None:
    feed, model = Feed(messages=["one", "two"], dies_after=1), Model()
    feed.open.set()
    async with gateway(tmp_path, feed, model):
        await asyncio.wait_for(feed.dead.wait(), 30)
        await until(lambda: answers(feed) == [["I think so: one"], ["I think so: two"]])
    feed.dies_after = -1
    feed.messages.append("three")
    async with gateway(tmp_path, feed, model):
        await until(lambda: feed.shows("2") == ["I think so: three"])
    assert feed.read_from == [0, 1]
    assert answers(feed)[:2] == [["I think so: one"], ["I think so: two"]]
    assert len(model.asked) == 3


async def test_c70_a_platform_does_not_see_the_positions_of_another(tmp_path: Path) -> None:
    feed, model = Feed(messages=["one"]), Model()
    feed.open.set()
    async with gateway(tmp_path, feed, model) as serves:
        await until(lambda: feed.shows("0") == ["I think so: one"])
        cursors = serves.engine.store.cursors
        await asyncio.wait_for(feed.moved.wait(), 30)
        assert await cursors.cursor("plaza", "bot", "events") == "1"
        assert await cursors.cursor("telegram", "bot", "events") == ""
