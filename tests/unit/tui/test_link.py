"""The way to the engine: what is said arrives once, by whatever way there is."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from hermes.core.errors import ChannelDown, Fenced, Rejected
from hermes.core.events import CommandRun
from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import Inbound, Media, Reply
from hermes.core.messages import Line as CoreLine
from hermes.core.signals import Recorded, Signal
from hermes.core.store import Accepted, ConversationRow
from hermes.tui.board import Board
from hermes.tui.link import ALONE, BACK, SLEPT, WAITING, OutgoingDraft, SessionLink
from hermes.tui.ports import Attach, EngineConnection, EngineConnections
from hermes.tui.transcript_items import NoticeLine, PersonText, Prose, TranscriptItem
from hermes.views.scene import Offered, Scene
from unit.tui.events import KEY, TURN, inbound, received, reply, started


class Shelf:
    async def put(self, content: bytes, media_type: str, name: str) -> Media:
        return Media(digest=content.hex(), media_type=media_type, name=name)

    async def get(self, media: Media) -> bytes | None:
        return bytes.fromhex(media.digest)


class Wire:
    """A way that takes what is said until it breaks; with `deaf` it breaks instead of taking."""

    media = Shelf()

    def __init__(
        self, *, deaf: bool = False, old: bool = False, scene: Scene | None = None
    ) -> None:
        self.deaf = deaf
        self.old = old  # it tells no scenes
        self.obeys = False  # what is said is a command
        self.heard: list[Inbound] = []
        self.acknowledged: list[str] = []
        self.followed: list[tuple[SessionKey, int | None]] = []
        self._scene = scene or Scene()
        self._seen: asyncio.Queue[Signal | tuple[str, Reply] | None] = asyncio.Queue()

    def tell(self, seen: "Signal | tuple[str, Reply] | None") -> None:
        self._seen.put_nowait(seen)

    async def say(self, inbound: Inbound) -> Accepted:
        if inbound.text == "no":
            raise Rejected("not that")
        if self.deaf:
            self.tell(None)
            raise ChannelDown("gone", delay_s=0)
        self.heard.append(inbound)
        if self.obeys:
            ran = CommandRun(f"local#{inbound.id}", 3.0)
            self.tell(Signal(KEY, TURN, Recorded((received(inbound.text), ran), 7)))
        return Accepted(True, inbound.session, len(self.heard))

    async def follow(self, key: SessionKey, after: int | None, *, live: bool) -> int:
        self.followed.append((key, after))
        return 5 if after is None else after

    async def next(self) -> Signal | tuple[str, Reply]:
        seen = await self._seen.get()
        if seen is None:
            raise ChannelDown("gone", delay_s=0)
        return seen

    async def shown(self, key: str) -> None:
        self.acknowledged.append(key)

    async def scene(self, key: SessionKey, *, recent: int = 0) -> Scene | None:
        return None if self.old else self._scene

    async def commands(self) -> Sequence[Offered]:
        return (Offered(name="/new", summary="new"),)

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]:
        return ()

    async def close(self) -> None:
        self.tell(None)


class World:
    """Gateways that come one after the other, and an engine of our own behind them."""

    def __init__(self, *gateways: Wire | None) -> None:
        self.gateways = list(gateways)
        self.own = Wire()
        self.sleeps = 0
        self.shown: list[TranscriptItem] = []
        self.count = 0
        self.link = SessionLink(
            connections=self._connections,
            board=Board(clock=lambda: 1.0),
            show=self._show,
            choose=self._choose,
            patience_s=0.5,
        )

    async def _connections(self) -> EngineConnections:
        return EngineConnections(
            attach=self._beside,
            open_engine=self._inside,
            message=self._message,
            price=lambda _m, _u, _c: None,
            window=lambda _model: 1_000,
        )

    async def _beside(self) -> EngineConnection | None:
        return self.gateways.pop(0) if self.gateways else None

    @asynccontextmanager
    async def _inside(self) -> AsyncIterator[Attach]:
        async def attach() -> EngineConnection | None:
            if self.sleeps:
                self.sleeps -= 1
                raise Fenced("taken for dead")
            return self.own

        yield attach

    def _message(self, key: SessionKey, text: str) -> Inbound:
        self.count += 1
        return replace(inbound(text, f"m{self.count}"), session=key)

    async def _choose(self, _line: EngineConnection) -> SessionKey:
        return KEY

    async def _show(self, items: Iterable[TranscriptItem]) -> None:
        self.shown += items

    async def until(self, holds: Callable[[], object]) -> None:
        """Run the link until that is so."""
        running = asyncio.create_task(self.link.run())
        try:
            async with asyncio.timeout(20):
                while not holds():
                    if running.done():
                        running.result()
                    await asyncio.sleep(0.01)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_gateway_that_runs_is_used_and_what_is_said_arrives_in_order() -> None:
    gateway = Wire()
    world = World(gateway)
    world.link.say(OutgoingDraft(text="one"))
    world.link.say(OutgoingDraft(text="two", images=((b"a", "image/png", "a.png"),)))
    await world.until(lambda: len(gateway.heard) == 2)
    assert [each.text for each in gateway.heard] == ["one", "two"]
    assert gateway.heard[1].media[0].name == "a.png"
    assert world.own.heard == []
    assert world.link.kind == "gateway"


async def test_said_again_by_the_next_way_it_is_the_same_message() -> None:
    broken, gateway = Wire(deaf=True), Wire()
    world = World(broken, None, gateway)
    world.link.say(OutgoingDraft(text="once"))
    await world.until(lambda: gateway.heard)
    assert [each.id for each in gateway.heard] == ["m1"]
    assert world.count == 1
    assert world.shown == [NoticeLine(WAITING.format(0.5), "warn"), NoticeLine(BACK, "good")]


async def test_where_no_gateway_comes_back_an_engine_of_our_own_goes_on() -> None:
    world = World(Wire(deaf=True))
    world.link.say(OutgoingDraft(text="once"))
    await world.until(lambda: world.own.heard)
    assert world.shown[-1] == NoticeLine(ALONE, "warn")
    assert world.link.kind == "own engine"


async def test_without_a_gateway_nobody_hears_of_one() -> None:
    world = World()
    world.link.say(OutgoingDraft(text="hi"))
    await world.until(lambda: world.own.heard)
    assert world.shown == []


async def test_an_engine_that_was_taken_for_dead_is_followed_by_another_one() -> None:
    world = World()
    world.sleeps = 1
    world.link.say(OutgoingDraft(text="hi"))
    await world.until(lambda: world.own.heard)
    assert world.shown == [NoticeLine(SLEPT, "warn")]


async def test_an_older_gateway_is_followed_from_now_on() -> None:
    gateway = Wire(old=True)
    world = World(gateway)
    await world.until(lambda: world.link.board.position == 5)
    assert gateway.followed == [(KEY, None)]


async def test_what_is_refused_is_said_and_does_not_stop_what_follows() -> None:
    gateway = Wire()
    world = World(gateway)
    world.link.say(OutgoingDraft(text="no"))
    world.link.say(OutgoingDraft(text="yes"))
    await world.until(lambda: gateway.heard)
    assert world.shown == [NoticeLine("not that", "bad")]


async def test_a_reply_is_acknowledged_when_it_is_shown() -> None:
    gateway = Wire()
    gateway.tell(("k1", reply("From before.", id_="t0/0")))
    world = World(gateway)
    await world.until(lambda: gateway.acknowledged)
    assert gateway.acknowledged == ["k1"]
    assert world.shown == [Prose("From before.")]


async def test_after_a_break_it_goes_on_behind_what_was_seen() -> None:
    first, second = Wire(), Wire()
    for at, event in enumerate((received("x"), started("m1")), 1):
        first.tell(Signal(KEY, TURN, Recorded((event,), at)))
    first.tell(None)
    world = World(first, second)
    await world.until(lambda: second.followed)
    assert second.followed == [(KEY, 2)]
    assert world.shown[0] == PersonText("x")


async def test_while_a_turn_runs_the_mode_decides_what_is_sent() -> None:
    said = {}
    for mode in ("queue", "steer", "interrupt"):
        gateway = Wire()
        world = World(gateway)
        world.link.board.turn = TURN
        world.link.say(OutgoingDraft(text="left", mode=mode))  # type: ignore[arg-type]
        await world.until(lambda link=world.link: not link.unsent)
        said[mode] = [(each.text, each.waits) for each in gateway.heard]
    assert said["queue"] == [("left", True)]
    assert said["steer"] == [("/steer left", False)]
    assert said["interrupt"] == [("/stop t1", False), ("left", True)]


async def test_another_session_is_followed_from_its_own_beginning() -> None:
    first, second = Wire(), Wire(scene=Scene(id=SessionId("s7"), head=7))
    world = World(first, second)
    other = SessionKey("agent:main:local:dm:other")
    first.deaf = True

    def switched() -> bool:
        if first.followed and not second.followed and world.link.key == KEY:
            world.link.say(OutgoingDraft(text="for the first"))
            world.link.switch(other, SessionId("s7"))
        return bool(second.heard)

    await world.until(switched)
    assert second.followed == [(other, 7)]
    assert [each.session for each in second.heard] == [KEY]


async def test_a_stop_before_the_turn_has_begun_stops_it_by_its_name() -> None:
    wire = Wire()
    world = World(wire)
    world.link.say(OutgoingDraft(text="go on", mode="queue"))
    assert world.link.stop()
    assert not world.link.stop(), "it was asked for before"
    wire.tell(Signal(KEY, TURN, Recorded((received("go on"), started("m1")), 7)))
    await world.until(lambda: len(wire.heard) == 2)
    assert [inbound.text for inbound in wire.heard] == ["go on", f"/stop {TURN}"]


async def test_a_stop_has_nothing_to_stop_when_a_command_was_said() -> None:
    wire = Wire()
    world = World(wire)
    world.link.say(OutgoingDraft(text="/new"))
    assert world.link.stop()
    wire.obeys = True
    await world.until(lambda: wire.heard and not world.link.stops_next)
    assert not world.link.stop()


async def test_a_conversation_that_is_over_is_brought_back_in_its_session() -> None:
    rows = (CoreLine(role="user", text="of another conversation"),)
    gateway = Wire(scene=Scene(id=SessionId("now"), head=7, recent=rows))
    world = World(gateway)
    world.link.switch(KEY, SessionId("then"))
    await world.until(lambda: gateway.heard)
    assert [each.text for each in gateway.heard] == ["/resume then"]
    assert world.shown == []
