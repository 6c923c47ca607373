"""A small gateway on a home: a real engine and store behind a socket, and chats that come to it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build, new_id
from hermes.channels.local.client import Attached
from hermes.channels.local.server import LocalServer
from hermes.core.channel import ChannelHost
from hermes.core.events import Event
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Media, Person, Reply
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Recorded, Signal, TextDelta
from hermes.core.store import Store
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted, StreamPace
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost
from hermes.testing.people import anybody, no_answer

KEY = session_key("local", "dm", "main")
Rule = Callable[[ModelRequest], Answer | tuple[Answer, StreamPace]]


def echo(request: ModelRequest) -> Answer:
    return Answer(text=f"You said: {request.lines[-1].text}")


def slow(delay_s: float) -> Rule:
    return lambda request: (echo(request), StreamPace(delay_s=delay_s))


def message(text: str, key: SessionKey = KEY) -> Inbound:
    return Inbound(
        id=MessageId(new_id()),
        account="local",
        session=key,
        sender=Person(id="owner"),
        address=Address(platform="local", chat="main"),
        text=text,
        at=time.time(),
    )


@dataclass(frozen=True)
class House:
    path: Path
    gateway: Gateway
    store: Store
    door: ChannelHost
    listening: "asyncio.Task[None]"

    async def chat(self) -> "Attached":
        attached = await Attached.to(self.path, media=FileMediaStore(self.path.parent / "media"))
        assert attached is not None, "the gateway lets a chat in"
        return attached

    async def answered(self, text: str) -> None:
        """Somebody says something, and nobody waits for the answer."""
        await self.gateway.accept(message(text))
        await self.gateway.settle(KEY)


@asynccontextmanager
async def house(home: Path, rule: Rule = echo) -> AsyncIterator[House]:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    server = LocalServer(home / "gateway.sock")
    parts = Parts(
        store=store,
        provider=Scripted(rule),
        tools=StaticToolset(),
        channels=[server],
        media=FileMediaStore(home / "media"),
    )
    gateway = build(parts)
    door = door_of(gateway, parts)
    try:
        async with gateway.joined():
            listening = asyncio.create_task(server.listen(door))
            await asyncio.sleep(0)
            yield House(home / "gateway.sock", gateway, store, door, listening)
            tasks = [listening, *(lane.task for lane in gateway.sessions.working() if lane.task)]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        await store.upkeep.close()


def door_of(gateway: Gateway, parts: Parts) -> ChannelHost:
    async def describe(_media: Media) -> str:
        return ""

    return FakeHost(
        accept=gateway.accept,
        role=anybody,
        admit_stranger=no_answer,
        deliver=gateway.deliver,
        watch=gateway.hub.watch,
        state=lambda: gateway.process.state,
        status=gateway.status,
        connected=lambda: None,
        polled=lambda: None,
        describe=describe,
        store=parts.store,
        media=parts.media,
        commands=(),
        new_id=new_id,
        clock=time.time,
    )


class Watched:
    """All that one chat sees, as it comes; replies are acknowledged."""

    def __init__(self, attached: Attached, *, shows: bool = True) -> None:
        self._attached = attached
        self._shows = shows
        self.events: list[tuple[int, Event]] = []
        self.replies: list[Reply] = []
        self.text = ""
        self.order: list[str] = []
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            match await self._attached.next():
                case Signal(glimpse=Recorded(events=events, position=position)):
                    self.events += [(position, event) for event in events]
                    self.order += [type(event).__name__ for event in events]
                case Signal(glimpse=TextDelta(text=text)):
                    self.text += text
                    self.order.append("text")
                case (key, reply):
                    self.replies.append(reply)
                    self.order.append("reply")
                    if self._shows:
                        await self._attached.shown(key)
                case _:
                    pass

    async def until(self, holds: Callable[["Watched"], bool], patience_s: float = 10.0) -> None:
        async with asyncio.timeout(patience_s):
            while not holds(self):  # noqa: ASYNC110 (a test looks from outside)
                await asyncio.sleep(0.01)

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._attached.close()
