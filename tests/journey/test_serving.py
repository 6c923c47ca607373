"""The long-running gateway on a chat platform: what people see across stops, crashes and errors.

The platform outlives each gateway. A death here is the end of all its tasks between two lines: what
is not in the store is gone.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.doubles.plaza import MANIFEST, Plaza

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build, serving
from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.people import Role
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import TextDelta, Watch
from hermes.gateway.serve import Serving
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite

KEY = chat_key("plaza", "dm", "1")


class Model:
    """A model that says each word when told to: `words` are those of the next answer."""

    name = "double:model"

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.held = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        self.asked.append(request)
        said = request.lines[-1].text
        watch(TextDelta("I think "))
        self.held.set()
        await self.go.wait()
        watch(TextDelta(f"so: {said}"))
        return Answer(text=f"I think so: {said}")

    async def aclose(self) -> None:
        return None

    def hold(self) -> None:
        self.held.clear()
        self.go.clear()


@asynccontextmanager
async def gateway(
    home: Path, plaza: Plaza, model: Model, *, boot_text: str = "", sent_away: str = ""
) -> AsyncIterator[Serving]:
    """Run one life of the gateway. What still runs at the end of the block is killed."""
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    parts = Parts(
        store=store,
        provider=model,
        tools=StaticToolset(),
        channels=[plaza],
        screens={"plaza": plaza},
        media=FileMediaStore(home / "media"),
        role=lambda sender: Role.STRANGER if sender.id == sent_away else Role.OWNER,
    )
    serves = serving(parts, receivers=[plaza], boot_text=boot_text)
    ready = asyncio.Event()
    before = asyncio.all_tasks()
    life = asyncio.create_task(serves.run(ready.set, limit_s=0.3))
    if plaza.open.is_set():
        await asyncio.wait_for(ready.wait(), 10)
    try:
        yield serves
    finally:
        doomed = asyncio.all_tasks() - before - {asyncio.current_task()}
        for task in doomed:
            task.cancel()
        await asyncio.gather(life, *doomed, return_exceptions=True)
        await store.upkeep.close()


async def until(holds: Callable[[], bool], limit_s: float = 30.0) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        await asyncio.sleep(0.01)


def opened() -> Plaza:
    plaza = Plaza()
    plaza.open.set()
    return plaza


async def test_a_message_is_answered_in_its_chat(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == ["I think so: hello"])


async def test_c54_the_answer_takes_the_place_of_the_draft(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    model.hold()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == ["I think …"])
        model.go.set()
        await until(lambda: plaza.shows() == ["I think so: hello"])


async def test_c54_after_a_death_the_same_draft_goes_on_and_one_answer_stands(
    tmp_path: Path,
) -> None:
    plaza, model = opened(), Model()
    model.hold()
    async with gateway(tmp_path, plaza, model) as serves:
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == ["I think …"])
        lane = serves.engine.sessions.get(KEY)
        assert lane is not None
        await until(lambda: bool(lane.session.turn and lane.session.turn.draft))
    model.go.set()
    async with gateway(tmp_path, plaza, model):
        await until(lambda: plaza.shows() == ["I think so: hello"])
    assert len(model.asked) == 2


async def test_c54_a_stop_takes_the_draft_away(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    model.hold()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == ["I think …"])
        await plaza.say(2, "/stop")
        await until(lambda: plaza.shows() == ["Stopped."])


async def test_c05_c01_only_chats_whose_work_is_cut_are_told_and_it_goes_on(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model) as serves:
        await plaza.say(1, "quiet", chat="2")
        await until(lambda: plaza.shows("2") == ["I think so: quiet"])
        model.hold()
        await plaza.say(2, "hello")
        await model.held.wait()
        serves.leave("restart_timeout")
        await until(lambda: serves.engine.process.state == "draining")
        await until(lambda: any("I will try to resume" in text for text in plaza.shows()))
        await until(lambda: serves.engine.sessions.working() == [])
        assert plaza.shows("2") == ["I think so: quiet"]
    model.go.set()
    async with gateway(tmp_path, plaza, model):
        await until(lambda: "I think so: hello" in plaza.shows())
    assert "a gateway restart" in model.asked[-1].lines[-1].note


async def test_c07_who_writes_during_the_drain_is_told_and_answered_after(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model) as serves:
        model.hold()
        await plaza.say(1, "hello", chat="2")
        await model.held.wait()
        serves.leave("restart_timeout")
        await until(lambda: serves.engine.process.state == "draining")
        await plaza.say(2, "late")
        await until(lambda: any("I am restarting" in text for text in plaza.shows()))
    model.go.set()
    async with gateway(tmp_path, plaza, model):
        await until(lambda: plaza.shows()[-1:] == ["I think so: late"])
    assert len(plaza.shows()) == 2


async def test_c60_who_writes_to_a_busy_chat_is_told_once(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    model.hold()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "one")
        await model.held.wait()
        for number in (2, 3, 4):
            await plaza.say(number, f"more {number}")
        await until(lambda: any("after the message before it" in text for text in plaza.shows()))
        model.go.set()
        await until(lambda: len(model.asked) == 2 and len(plaza.shows()) == 3)
        assert "more 2" in model.asked[1].lines[-1].text
        assert "more 4" in model.asked[1].lines[-1].text
        assert len([text for text in plaza.shows() if "after the message" in text]) == 1


async def test_c13_c52_a_turn_waits_for_its_platform_and_old_replies_go_first(
    tmp_path: Path,
) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model):
        plaza.failures = [ChannelDown("no net", delay_s=60.0)]
        await plaza.say(1, "first")
        await until(lambda: not plaza.failures)
        model.hold()
        await plaza.say(2, "second")
        await model.held.wait()
        plaza.chats.clear()
        plaza.open.clear()
    model.go.set()
    store = await open_sqlite(tmp_path / "hermes.db", clock=lambda: time.time() + 100)
    rows = await store.outbox.rows(KEY, limit=5)
    await store.upkeep.close()
    assert rows[-1].state == "failed"
    asked = len(model.asked)
    async with gateway(tmp_path, plaza, model):
        await asyncio.sleep(0.3)
        assert len(model.asked) == asked, "it went on although its platform was not there"
        plaza.open.set()
        await until(lambda: "I think so: second" in plaza.shows())
        assert plaza.shows() == ["I think so: first", "I think so: second"], "nothing overtakes"


async def test_c13_a_turn_of_somebody_who_is_not_welcome_any_more_is_not_resumed(
    tmp_path: Path,
) -> None:
    plaza, model = opened(), Model()
    model.hold()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await model.held.wait()
    model.go.set()
    async with gateway(tmp_path, plaza, model, sent_away="ann"):
        await asyncio.sleep(0.3)
    assert len(model.asked) == 1


async def test_c53_a_flood_wait_holds_and_the_answer_comes_once(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model):
        plaza.failures = [ChannelBusy("slow down", delay_s=0.4)]
        began = time.monotonic()
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == ["I think so: hello"])
        assert time.monotonic() - began >= 0.4


async def test_c55_a_send_in_doubt_is_settled_at_the_start_and_marked(tmp_path: Path) -> None:
    plaza, model = opened(), Model()

    class Cut(Plaza):
        async def send(self, reply: object, chunk: str, *, key: str) -> str:
            await super().send(reply, chunk, key=key)  # type: ignore[arg-type]
            await asyncio.Event().wait()
            return ""

    cut = Cut()
    cut.open.set()
    async with gateway(tmp_path, cut, model):
        await cut.say(1, "hello")
        await until(lambda: cut.shows() == ["I think so: hello"])
    async with gateway(tmp_path, plaza, model):
        await until(lambda: len(plaza.shows()) == 1)
    assert plaza.shows() == [
        "(Perhaps a repeat: I was interrupted while sending this.)\n\nI think so: hello"
    ]
    assert len(model.asked) == 1


@pytest.mark.parametrize("arrived", [True, False])
async def test_c51_a_platform_that_shows_what_it_has_is_looked_at_first(
    tmp_path: Path, *, arrived: bool
) -> None:
    looked_at = replace(MANIFEST, on_doubt="look")

    class Cut(Plaza):
        async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
            if arrived:
                await super().send(reply, chunk, key=key)
            stuck.set()
            await asyncio.Event().wait()
            return ""

    cut, model, stuck = Cut(manifest=looked_at), Model(), asyncio.Event()
    cut.open.set()
    async with gateway(tmp_path, cut, model):
        await cut.say(1, "hello")
        await stuck.wait()
    plaza = Plaza(manifest=looked_at, chats=cut.chats, _numbers=cut._numbers)
    plaza.open.set()
    async with gateway(tmp_path, plaza, model):
        await until(lambda: plaza.door is not None)
        await plaza.say(2, "and now?")
        await until(lambda: plaza.shows()[-1:] == ["I think so: and now?"])
    first, second = plaza.shows()
    mark = "" if arrived else "(Perhaps a repeat: I was interrupted while sending this.)\n\n"
    assert (first, second) == (f"{mark}I think so: hello", "I think so: and now?")
    assert len(model.asked) == 2


async def test_what_cannot_be_delivered_is_told_at_home(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "/sethome", chat="home")
        await until(lambda: len(plaza.shows("home")) == 1)
        plaza.failures = [ChannelRefused("blocked by the person")]
        await plaza.say(2, "hello")
        await until(lambda: len(plaza.shows("home")) == 2)
        assert "blocked by the person" in plaza.shows("home")[1]
        assert plaza.shows("1") == []


async def test_boot_md_is_a_turn_whose_answer_goes_home(tmp_path: Path) -> None:
    plaza, model = opened(), Model()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "/sethome", chat="home")
        await until(lambda: len(plaza.shows("home")) == 1)
    async with gateway(tmp_path, plaza, model, boot_text="Look around."):
        await until(lambda: plaza.shows("home")[-1] == "I think so: Look around.")


async def test_typing_is_shown_while_a_turn_has_nothing_to_show(tmp_path: Path) -> None:
    plaza, model = opened(), Model()

    class Thinker(Model):
        async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
            await self.go.wait()
            return Answer(text="done")

    model = Thinker()
    model.hold()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await until(lambda: plaza.typed == ["1"])
        model.go.set()
        await until(lambda: plaza.shows() == ["done"])


async def test_a_channel_that_breaks_as_nobody_foresaw_goes_on_by_itself(tmp_path: Path) -> None:
    """Neither what listens nor what sends stops for good; status says how it is meanwhile."""
    plaza, model = Plaza(), Model()
    plaza.deaf = [KeyError("result")]
    plaza.open.set()
    async with gateway(tmp_path, plaza, model) as serves:
        await until(lambda: plaza.door is not None)
        plaza.failures = [TypeError("no")]
        await plaza.say(1, "hello")

        def is_failing() -> bool:
            (channel,) = serves.engine.process.channels()
            return channel.state == "failing" and "see the log" in channel.problem

        await until(is_failing)
        await until(lambda: any("I think so: hello" in text for text in plaza.shows()))
        (channel,) = serves.engine.process.channels()
        assert (channel.state, channel.problem) == ("connected", "")


async def test_when_an_engine_has_left_nothing_of_it_runs(tmp_path: Path) -> None:
    """The store is closed then, and nobody may be there to use it."""
    plaza, model = opened(), Model()
    model.hold()
    store = await open_sqlite(tmp_path / "hermes.db", clock=time.time)
    shelf = FileMediaStore(tmp_path / "media")
    parts = Parts(store=store, provider=model, tools=StaticToolset(), channels=[plaza], media=shelf)
    engine = build(parts)
    async with engine.joined():
        await engine.accept(
            Inbound(
                id=MessageId("1"),
                account="plaza",
                session=KEY,
                sender=Person(id="ann"),
                address=Address(platform="plaza", chat="1"),
                text="hello",
                at=1.0,
            )
        )
        await asyncio.wait_for(model.held.wait(), 10)
        assert len(engine.sessions.working()) == 1
    assert engine.sessions.working() == []
    engine.reconsider()
    assert engine.sessions.working() == [], "nothing is begun any more"
    await store.upkeep.close()
