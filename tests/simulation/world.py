"""Several processes on one store, one platform, some people, and a seed that decides it all."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, serving
from hermes.core.channel import Manifest
from hermes.core.errors import ChannelDown, ProviderBusy
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Effect, Inbound, Line, Media, Person, Reply
from hermes.core.ports import (
    Answer,
    Deferred,
    ModelRequest,
    RawCall,
    Tool,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from hermes.core.rules import ResumeRules
from hermes.core.signals import Watch
from hermes.core.transcript import spoken
from hermes.gateway.service import Gateway
from tests.doubles.children import child_message
from tests.simulation.store import Door, SimStore, open_sim
from tests.simulation.virtual import WHOSE, VirtualLoop

T = TypeVar("T")
CLASSES = {
    "look": Effect.READ,
    "tidy": Effect.IDEMPOTENT,
    "pay": Effect.EFFECT,
    "delegate": Effect.IDEMPOTENT,
}
TOOLS = ("look", "delegate", "delegate", "pay", "look", "tidy", "pay")
CHATS = 3
CHILD = "a part of the work"
EPOCH_S = 1_800_000_000.0


@dataclass
class Outside:
    """What no restart takes back."""

    chance: random.Random
    ran: list[tuple[str, str]] = field(default_factory=list)  # (tool, call)
    shown: dict[str, str] = field(default_factory=dict)  # key, text
    doubled: list[str] = field(default_factory=list)  # one key, two texts
    asked: list[int] = field(default_factory=list)  # notes in each request
    calm: bool = False

    async def pause(self, most: float) -> None:
        await asyncio.sleep(self.chance.random() * most)


@dataclass(frozen=True)
class Model:
    outside: Outside
    name: str = "sim:model"

    async def aclose(self) -> None:
        return None

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        """Deterministic in the conversation: asks for a few calls, then answers."""
        noted = sum(spoken(line).count("[Note by Hermes") for line in request.lines)
        self.outside.asked.append(noted)
        await self.outside.pause(3.0)
        if not self.outside.calm and self.outside.chance.random() < 0.02:
            raise ProviderBusy("too many requests")
        last = max(n for n, line in enumerate(request.lines) if line.role == "user")
        said = [line for line in request.lines[last:] if line.role == "assistant"]
        child = request.lines[last].text == CHILD
        wants = 0 if child else len(request.lines[last].text) % 3
        if len(said) < wants:
            tools = TOOLS[: 1 + (len(said) + wants * 3) % 7]
            return Answer(calls=tuple(RawCall(tool, "{}") for tool in tools), finish="calls")
        return Answer(text=f"answer to {last}")


def tool(outside: Outside, name: str) -> Tool:
    async def run(context: ToolContext) -> ToolResult:
        await outside.pause(1.0)
        outside.ran.append((name, context.call.id))
        if name == "delegate":
            await context.host.accept(child_message(context, CHILD))
            return ToolResult(deferred=Deferred(waits_for="a child"))
        await outside.pause(1.0)
        return ToolResult(text=f"{name} ok")

    return Tool(
        spec=ToolSpec(name=name, description=name, parameters='{"type":"object"}'),
        check=lambda _arguments: "",
        effect=lambda _arguments: CLASSES[name],
        run=run,
        parallel=name == "delegate",
    )


@dataclass(frozen=True)
class Wire:
    outside: Outside

    @property
    def manifest(self) -> Manifest:
        return Manifest(name="wire", on_doubt="same_key")

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        await self.outside.pause(0.5)
        if not self.outside.calm and self.outside.chance.random() < 0.05:
            raise ChannelDown("flood wait", delay_s=2.0)
        if self.outside.shown.setdefault(key, chunk) != chunk:
            self.outside.doubled.append(key)
        return key


class NoMedia:
    async def put(self, content: bytes, media_type: str, name: str) -> Media:
        return Media(digest="0", media_type=media_type, name=name)

    async def get(self, media: Media) -> bytes | None:
        return None


@dataclass
class Process:
    """One gateway process. It can be killed, or stand still for a while."""

    name: str
    sim: SimStore
    door: Door
    gateway: Gateway
    main: "asyncio.Task[object]"


@dataclass
class World:
    folder: Path
    chance: random.Random
    loop: VirtualLoop
    crash: float
    outside: Outside
    processes: dict[str, Process] = field(default_factory=dict)
    skew: float = 0.0
    started: int = 0

    def clock(self) -> float:
        return EPOCH_S + self.loop.time() + self.skew

    def start(self) -> Process:
        self.started += 1
        name = f"p{self.started}"
        door = Door(random.Random(self.chance.random()), crash=self.crash)
        door.busy = 0.0 if self.outside.calm else 0.01
        sim = open_sim(self.folder / "sim.db", self.clock, door)
        parts = Parts(
            store=sim.store,
            provider=Model(self.outside),
            tools=StaticToolset([tool(self.outside, name) for name in CLASSES]),
            channels=[Wire(self.outside)],
            media=NoMedia(),
            resume=ResumeRules(attempts_max=10_000),
            beat_s=3.0,
            clock=self.clock,
        )
        serves = serving(parts, seat=name)
        gateway, forever = serves.engine, serves.run(lambda: None, limit_s=60.0)
        process = Process(name, sim, door, gateway, self.task_of(name, forever))
        self.processes[name] = process
        return process

    def task_of(self, name: str, work: Coroutine[None, None, T]) -> "asyncio.Task[T]":
        """A task that dies with the process of that name, and so do those that it makes."""
        token = WHOSE.set(name)
        try:
            return self.loop.create_task(work)
        finally:
            WHOSE.reset(token)

    async def kill(self, process: Process) -> None:
        process.door.dead = True
        doomed = self.loop.kill(process.name)
        await asyncio.gather(process.main, *doomed, return_exceptions=True)
        process.sim.kill()
        self.processes.pop(process.name, None)

    def inbound(self, number: int) -> Inbound:
        chat = str(number % CHATS)
        return Inbound(
            id=MessageId(str(number)),
            account="wire",
            session=key_of(number),
            sender=Person(id=chat),
            address=Address(platform="wire", chat=chat),
            text=f"message {'x' * (number % 7)}{number}",
            at=self.clock(),
        )


def key_of(number: int) -> SessionKey:
    return session_key("wire", "dm", str(number % CHATS))


def tool_calls(lines: Sequence[Line]) -> dict[str, str]:
    return {call.id: call.tool for line in lines for call in line.calls}
