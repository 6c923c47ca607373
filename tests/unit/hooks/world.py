"""A home with hooks, a real store, and a gateway that commits what a test says."""

import asyncio
import itertools
import json
import os
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hermes.core import events as e
from hermes.core.channel import ChannelHost, GatewayStatus
from hermes.core.ids import MessageId, NodeId, SessionId, SessionKey, TurnId, session_key
from hermes.core.messages import Address, Inbound, Media, Person
from hermes.core.projection import commit_of
from hermes.core.signals import Recorded, Signal
from hermes.core.store import Accepted, Fence, Home, Store
from hermes.gateway.live import Hub
from hermes.hooks.service import Hooks
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost
from hermes.testing.people import anybody, no_answer

PATIENCE_S = 60.0
KEY = session_key("telegram", "dm", "5")
CHAT = Address(platform="telegram", chat="5")
TURN = TurnId("turn-1")
# Writes the value that it got, as one line, into a file of its folder.
NOTES = "import sys; open('heard', 'a').write(sys.stdin.read())"


def write_hook(home: Path, name: str, yaml: str, *, python: str = "", **files: str) -> Path:
    folder = home / "hooks" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "HOOK.yaml").write_text(textwrap.dedent(yaml), encoding="utf-8")
    if python:
        (folder / "handler.py").write_text(textwrap.dedent(python), encoding="utf-8")
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def message(text: str, n: int = 1, *, key: SessionKey = KEY) -> Inbound:
    return Inbound(
        id=MessageId(str(n)),
        account="telegram",
        session=key,
        sender=Person(id="7", name="Ada"),
        address=CHAT,
        text=text,
        at=1.0,
    )


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


@dataclass
class World:
    home: Path
    store: Store
    hub: Hub = field(default_factory=Hub)
    homes: list[Home] = field(default_factory=list)
    accepted: list[tuple[Inbound, bool]] = field(default_factory=list)
    refuse: Exception | None = None
    connected: asyncio.Event = field(default_factory=asyncio.Event)

    def door(self) -> ChannelHost:
        numbers = itertools.count(1)
        return FakeHost(
            accept=self.accept,
            role=anybody,
            admit_stranger=no_answer,
            deliver=_nothing,
            watch=self.hub.watch,
            state=lambda: "ready",
            status=_no_status,
            connected=self.connected.set,
            polled=lambda: None,
            describe=_no_words,
            store=msgspec.structs.replace(self.store, library=_Listing(self)),  # type: ignore[arg-type]
            media=FileMediaStore(self.home / "media"),
            commands=(),
            new_id=lambda: f"boot-{next(numbers)}",
            clock=time.time,
        )

    def hooks(self) -> Hooks:
        environ = {**os.environ, "SECRET_KEY": "not for hooks"}
        return Hooks(self.home / "hooks", home=self.home, environ=environ, python=sys.executable)

    async def accept(self, inbound: Inbound) -> Accepted:
        if self.refuse is not None:
            raise self.refuse
        accepted = await self.store.journal.accept(inbound, opens=SessionId("c-1"))
        self.accepted.append((inbound, accepted.fresh))
        return accepted

    async def append(self, *events: e.Event) -> None:
        """Really, by a worker that is gone then."""
        node, journal = NodeId("node"), self.store.journal
        await self.store.nodes.join(node)
        (claim,) = await journal.claim(node, limit=1, only=KEY)
        commit = commit_of(await journal.load(KEY), events, snapshot=False)
        await journal.append(commit, fence=Fence(node, claim.epoch))

    def commit(self, *events: e.Event, position: int = 10, key: SessionKey = KEY) -> None:
        """As if a worker had just appended them."""
        self.hub.emit(Signal(key, TURN, Recorded(events, position)))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        ear = asyncio.create_task(self.hooks().run(self.door()))
        await asyncio.wait_for(self.connected.wait(), PATIENCE_S)
        await asyncio.sleep(0)
        try:
            yield
            assert not ear.done(), "the ear has gone deaf"
        finally:
            ear.cancel()
            await asyncio.wait({ear})

    async def heard(self, hook: str, count: int) -> list[dict[str, Any]]:
        """What a hook with NOTES was told, when it is that much."""
        file = self.home / "hooks" / hook / "heard"
        await until(lambda: text_of(file).count("\n") >= count)
        return [json.loads(line) for line in text_of(file).splitlines()]

    async def said(self, count: int) -> Sequence[tuple[Inbound, bool]]:
        await until(lambda: len(self.accepted) >= count)
        return self.accepted


class _Listing:
    """The two listings that hooks look at."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def homes(self) -> Sequence[Home]:
        return self._world.homes

    async def events(
        self, key: SessionKey, *, after: int = 0, limit: int = 1000
    ) -> Sequence[e.Event]:
        return await self._world.store.library.events(key, after=after, limit=limit)


async def _nothing(_what: object) -> None:
    """Nobody waits for this in these tests."""


async def _no_status() -> GatewayStatus:
    raise AssertionError("hooks do not ask for the status")


async def _no_words(_media: Media) -> None:
    return None


@asynccontextmanager
async def world_in(home: Path) -> AsyncIterator[World]:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        yield World(home, store)
    finally:
        await store.upkeep.close()
