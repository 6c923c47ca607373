"""A chat by way of a gateway that comes and goes, over a real socket."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from hermes.app import application as app
from hermes.channels.local import wire
from hermes.cli.chat.answer import MessageOutcome
from hermes.cli.chat.ask import begin_talk
from hermes.cli.chat.attached import AttachedGateway, talk_through_gateway
from hermes.cli.chat.live import LiveView
from hermes.cli.chat.talk import Talk
from hermes.cli.context import CliContext
from hermes.core.channel import GatewayStatus
from hermes.core.errors import ChannelDown
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow
from hermes.core.signals import Signal
from hermes.core.store import Accepted
from hermes.stores.media import FileMediaStore
from hermes.views.scene import Scene
from hermes.views.turn_story import StepRow
from unit.channels.local.house import KEY, house, slow
from unit.cli.stage import Stage, stage

Attach = Callable[[], Awaitable[AttachedGateway | None]]


def talk(home: Path, console: Stage, text: str = "hello", *, json: bool = False) -> Talk:
    context = CliContext(home=home, environ={}, console=console, clock=time.time)
    live = LiveView(console, KEY, wanted=not json)
    return begin_talk(
        context, KEY, text, live=live, document=MessageOutcome.document if json else None
    )


def at(home: Path) -> Attach:
    return lambda: app.beside(home)


async def test_without_a_gateway_nothing_is_said(tmp_path: Path) -> None:
    console = stage()
    assert not await talk_through_gateway(talk(tmp_path, console), at(tmp_path))
    assert console.stderr.getvalue() == ""


async def test_the_answer_is_shown_and_noted_as_delivered(tmp_path: Path) -> None:
    console = stage()
    async with house(tmp_path) as context:
        assert await talk_through_gateway(talk(tmp_path, console), at(tmp_path))
        (row,) = await context.store.outbox.rows(KEY, limit=5)
        assert row.state == "delivered"
    assert (console.stdout.getvalue(), console.stderr.getvalue()) == ("You said: hello\n", "")


async def test_a_talk_goes_on_behind_the_last_event_that_it_has_seen(tmp_path: Path) -> None:
    console = stage(tty=True)
    said = talk(tmp_path, console)
    async with house(tmp_path, slow(60)) as context:
        talking = asyncio.create_task(talk_through_gateway(said, at(tmp_path)))
        while not await context.store.library.turns(limit=1):  # noqa: ASYNC110 (seen from outside)
            await asyncio.sleep(0.01)
    async with house(tmp_path) as context:
        await context.gateway.dispatch(KEY)
        assert await asyncio.wait_for(talking, 10)
        (turn,) = await context.store.library.turns(limit=5)
        assert (turn.state, turn.attempts) == ("answered", 2)
    assert console.stdout.getvalue().count("You said: hello") == 1
    assert "The gateway is gone." in console.stderr.getvalue()
    assert "Resuming the interrupted turn" in console.stderr.getvalue()


async def test_c15_a_chat_does_not_wait_for_a_turn_that_nobody_takes_up(tmp_path: Path) -> None:
    console = stage()
    said = talk(tmp_path, console)
    async with house(tmp_path, slow(60)) as context:
        talking = asyncio.create_task(talk_through_gateway(said, at(tmp_path)))
        while not await context.store.library.turns(limit=1):  # noqa: ASYNC110 (seen from outside)
            await asyncio.sleep(0.01)
    async with house(tmp_path) as context:
        context.gateway.process.state = "ready"
        context.gateway.process.resumes = False
        await context.gateway.dispatch(KEY)
        assert await asyncio.wait_for(talking, 10)
    assert said.printed.outcome is not None
    assert said.printed.outcome.state == "running"
    assert "does not resume automatically" in console.stderr.getvalue()


async def test_a_gateway_that_nobody_understands_is_left_alone(tmp_path: Path) -> None:
    async def nonsense(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(wire.line(wire.Hello(wire.PROTOCOL)) + b'{"type":"newer"}\n')
        await writer.drain()
        writer.close()

    async def newer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(wire.line(wire.Hello(wire.PROTOCOL + 1)))
        await writer.drain()
        writer.close()

    for one in (nonsense, newer):
        server = await asyncio.start_unix_server(one, tmp_path / "gateway.sock")
        async with server:
            assert not await talk_through_gateway(
                talk(tmp_path, stage()), at(tmp_path), patience_s=0.3
            )


class Forgetful:
    """A gateway that answers, and dies before it has noted that the answer was shown."""

    def __init__(self, real: AttachedGateway) -> None:
        self._real = real
        self.media = real.media

    async def status(self) -> GatewayStatus:
        return await self._real.status()

    async def say(self, inbound: Inbound) -> Accepted:
        return await self._real.say(inbound)

    async def follow(self, key: SessionKey, after: int | None, *, live: bool) -> int:
        return await self._real.follow(key, after, live=live)

    async def next(self) -> Signal | tuple[str, Reply]:
        return await self._real.next()

    async def shown(self, key: str) -> None:
        raise ChannelDown("gone", delay_s=0)

    async def deliver(self, key: SessionKey) -> None:
        await self._real.deliver(key)

    async def outcome(
        self, key: SessionKey, turn: TurnId | None
    ) -> tuple[SessionId, TurnRow | None, tuple[StepRow, ...]]:
        return await self._real.outcome(key, turn)

    async def scene(self, key: SessionKey) -> Scene | None:
        return await self._real.scene(key)

    async def close(self) -> None:
        await self._real.close()


async def test_an_answer_that_is_offered_again_is_not_shown_again(tmp_path: Path) -> None:
    console = stage()
    async with house(tmp_path) as context:
        ways: list[AttachedGateway] = [await context.chat(), Forgetful(await context.chat())]

        async def attach() -> AttachedGateway | None:
            return ways.pop() if ways else None

        assert await talk_through_gateway(talk(tmp_path, console, json=True), attach)
        (row,) = await context.store.outbox.rows(KEY, limit=5)
        assert row.state == "delivered"
    assert console.stdout.getvalue().count("You said: hello") == 1


async def test_pictures_are_put_where_the_gateway_finds_them(tmp_path: Path) -> None:
    said = talk(tmp_path, stage())
    said.images = [(b"picture", "image/png", "a.png")]
    async with house(tmp_path) as context:
        assert await talk_through_gateway(said, at(tmp_path))
        session = await context.store.journal.load(KEY)
        first, *_ = await context.store.journal.lines(session.view.spans)
    assert await FileMediaStore(tmp_path / "media").get(first.media[0]) == b"picture"
