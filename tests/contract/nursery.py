"""The test's side of the fork server: begin a gateway, wait until it is ready, kill it, read it."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes.core import events as e
from hermes.core.ids import MessageId
from hermes.core.messages import Address, Inbound, Media, Person
from hermes.core.outbox import OutboxRow
from hermes.core.store import Store
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from tests.contract.channels import PATIENCE_S, ChannelAdapter, until
from tests.contract.lives import notes

ROOT = Path(__file__).parents[2]


@dataclass
class Life:
    """One process."""

    pid: int
    status: int | None = None

    @property
    def is_alive(self) -> bool:
        return self.status is None

    async def killed(self) -> None:
        """Wait until it has killed itself."""
        await until(lambda: not self.is_alive)
        assert self.status == -signal.SIGKILL, f"it ended with {self.status}"

    async def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        await self.killed()


@dataclass
class Nursery:
    """The fork server. `lives` are those that it told us about."""

    server: asyncio.subprocess.Process
    lives: dict[int, Life] = field(default_factory=dict)
    begun: "asyncio.Queue[Life]" = field(default_factory=asyncio.Queue)

    async def begin(self, order: dict[str, Any]) -> Life:
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(order).encode() + b"\n")
        await self.server.stdin.drain()
        async with asyncio.timeout(PATIENCE_S):
            return await self.begun.get()

    async def follow(self) -> None:
        assert self.server.stdout is not None
        async for line in self.server.stdout:
            told = json.loads(line)
            if "began" in told:
                life = self.lives[told["began"]] = Life(told["began"])
                self.begun.put_nowait(life)
            elif "ended" in told:
                self.lives[told["ended"]].status = told["status"]


@asynccontextmanager
async def nursery() -> AsyncIterator[Nursery]:
    """Run the fork server; at the end it kills what still lives."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.contract.lives"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    made = Nursery(server)
    following = asyncio.create_task(made.follow())
    try:
        yield made
    finally:
        assert server.stdin is not None
        server.stdin.close()
        await asyncio.wait_for(server.wait(), PATIENCE_S)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@dataclass
class Scene:
    """One platform, its home, and every process that a test runs on them."""

    adapter: ChannelAdapter
    nursery: Nursery
    channel: str  # the adapter's name

    @property
    def home(self) -> Path:
        return self.adapter.home

    async def start(self, point: str = "", *, ready: bool = True) -> Life:
        order = {"home": str(self.home), "channel": self.channel, "point": point}
        life = await self.nursery.begin({**order, "spec": dict(self.adapter.spec())})
        self.adapter.alive = lambda: life.is_alive
        if ready:
            await self.ready(life)
        return life

    async def ready(self, life: Life) -> None:
        note = self.home / f"ready-{life.pid}"
        await until(lambda: note.exists() or not life.is_alive)
        assert note.exists(), (self.home / "traceback").read_text(encoding="utf-8")
        self.adapter.port = json.loads(note.read_text(encoding="utf-8"))["port"]

    @property
    def asked(self) -> list[str]:
        """What the models of all lives were asked."""
        return notes(self.home / "asked")

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """Read the home as any other process may."""
        store = await open_sqlite(self.home / "hermes.db", clock=time.time)
        try:
            yield store
        finally:
            await store.upkeep.close()

    async def said(self) -> list[str]:
        """Every message that a platform delivered for the chat, in its order."""
        async with self.store() as store:
            events = await store.journal.since(self.adapter.key, 0)
        found = (each.inbound for each in events if isinstance(each, e.MessageReceived))
        return [inbound.text for inbound in found if inbound.origin != "relay"]

    async def until_said(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(await self.said()) < count:  # noqa: ASYNC110 (another process accepts)
                await asyncio.sleep(0.05)

    async def turns(self) -> int:
        async with self.store() as store:
            return len(await store.library.turns(limit=20))

    async def rows(self) -> list[OutboxRow]:
        async with self.store() as store:
            return list(await store.outbox.rows(self.adapter.key, limit=20))

    async def until_answered(self, count: int = 1) -> None:
        """Wait until so many turns have ended."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                async with self.store() as store:
                    turns = await store.library.turns(limit=20)
                if sum(turn.state == "answered" for turn in turns) >= count:
                    return
                await asyncio.sleep(0.05)

    async def until_sent(self) -> None:
        """Wait until nothing is left in the outbox."""
        async with asyncio.timeout(PATIENCE_S):
            while any(  # noqa: ASYNC110 (another process sends)
                row.state != "delivered" for row in await self.rows()
            ):
                await asyncio.sleep(0.05)

    async def send_file(self, name: str) -> None:
        """Put a file into the chat, as `hermes send` does: by another process."""
        chat = Address(platform=self.channel, chat="7")
        media: Media = await FileMediaStore(self.home / "media").put(
            b"the bytes", "text/plain", name
        )
        relayed = Inbound(
            id=MessageId(name),
            account="send",
            session=self.adapter.key,
            sender=Person(id="hermes"),
            address=chat,
            text="",
            at=time.time(),
            origin="relay",
            media=(media,),
        )
        async with self.store() as store:
            await store.journal.accept(relayed, opens="file")  # type: ignore[arg-type]
