"""A small world whose every touch is counted: three tools, a model, a platform, one message.

Files stand for the outside: they are what a restart cannot take back.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build
from hermes.core.channel import Manifest
from hermes.core.ids import MessageId, session_key
from hermes.core.messages import Address, Effect, Inbound, Media, Person, Reply
from hermes.core.policy import WORST, Capability
from hermes.core.ports import (
    Answer,
    ModelRequest,
    RawCall,
    Tool,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from hermes.core.rules import ResumeRules
from hermes.core.session import Idle
from hermes.core.signals import Watch
from hermes.core.transcript import spoken
from hermes.gateway.service import Gateway
from hermes.stores.sqlite import open_sqlite
from hermes.tools.clarify import clarify_tool
from hermes.tools.delegation.tool import DelegationRules, delegate_tool
from tests.crash.fuse import VFS, Fuse, FusedVFS
from tests.crash.jobs import keep_time

KEY = session_key("wire", "dm", "1")
CAPABILITIES = {
    "look": Capability.READ,
    "tidy": Capability.WRITE,
    "pay": Capability.LASTING,
    "delegate": Capability.READ,
    "ask": Capability.REPLY,
}
CLASSES = {
    "look": Effect.READ,
    "tidy": Effect.IDEMPOTENT,
    "pay": Effect.EFFECT,
    "delegate": Effect.IDEMPOTENT,
    "ask": Effect.IDEMPOTENT,
}
CLARIFYING: tuple[tuple[str, ...], ...] = (("ask", "pay"), ())
QUESTION = json.dumps({"question": "Which colour?", "choices": ["red", "blue"]})
DELEGATING: tuple[tuple[str, ...], ...] = (("delegate", "delegate", "pay"), ())
CHILD = "a part of it"
SCHEDULED: tuple[tuple[str, ...], ...] = (("pay", "look"), ())
GIVEN = json.dumps({"goal": CHILD})
ARGUMENTS = {"delegate": GIVEN, "ask": QUESTION}
ASKING: tuple[tuple[str, ...], ...] = (("pay",), ())
SCRIPT: tuple[tuple[str, ...], ...] = (("look", "look", "pay", "tidy"), ("pay", "look"), ())
NOTE = "[Note by Hermes"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One life of a process. `on_doubt` is what the platform can do about a repeat."""

    home: Path
    fuse: Fuse
    on_doubt: str = "same_key"
    messages: int = 1
    delegates: bool = False  # parts of the work are done by sessions of their own
    scheduled: bool = False  # a job does it, twice
    clarifies: bool = False  # the model asks; the answer comes as soon as the question is shown
    asks: bool = False  # paying needs a yes, which the owner gives as soon as the question is shown


def say(number: int) -> Inbound:
    return Inbound(
        id=MessageId(str(number)),
        account="wire",
        session=KEY,
        sender=Person(id="1"),
        address=Address(platform="wire", chat="1"),
        text=f"please {number}",
        at=1_000.0 + number,
    )


def note(path: Path, value: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def notes(path: Path) -> list[str]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def delegating(case: Case) -> Tool:
    """The real tool, which the fuse sees, under the name of the script."""
    made = delegate_tool(DelegationRules(known_toolsets=("terminal", "files", "web")))

    async def run(context: ToolContext) -> ToolResult:
        mine = case.fuse.reach("tool delegate")
        note(case.home / "delegate.ran", context.call.id)
        case.fuse.leave(mine)
        return await made.run(context)

    capabilities = frozenset({CAPABILITIES["delegate"]}) if case.asks else WORST
    spec = replace(made.spec, name="delegate")
    return replace(made, run=run, spec=spec, capabilities=capabilities)


def asking(case: Case) -> Tool:
    """The real tool, which the fuse sees, under the name of the script."""
    made = clarify_tool()

    async def run(context: ToolContext) -> ToolResult:
        case.fuse.leave(case.fuse.reach("tool ask"))
        return await made.run(context)

    return replace(made, run=run, spec=replace(made.spec, name="ask"))


def tool(case: Case, name: str) -> Tool:
    if name == "delegate":
        return delegating(case)
    if name == "ask":
        return asking(case)

    async def run(context: ToolContext) -> ToolResult:
        mine = case.fuse.reach(f"tool {name}")
        note(case.home / f"{name}.ran", context.call.id)
        case.fuse.leave(mine)
        await asyncio.sleep(0)
        return ToolResult(text=f"{name} did {context.call.id}")

    return Tool(
        spec=ToolSpec(name=name, description=name, parameters='{"type":"object"}'),
        check=lambda _arguments: "",
        effect=lambda _arguments: CLASSES[name],
        run=run,
        capabilities=frozenset({CAPABILITIES[name]}) if case.asks else WORST,
    )


@dataclass(frozen=True, kw_only=True)
class Model:
    """Asks for the script's calls one step after the other, by what the request shows."""

    case: Case
    name: str = "scripted:world"

    async def aclose(self) -> None:
        return None

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        mine = self.case.fuse.reach("model")
        text = "\n".join(spoken(line) for line in request.lines)
        note(self.case.home / "asked", [text.count(NOTE), len(request.lines)])
        self.case.fuse.leave(mine)
        last = max(n for n, line in enumerate(request.lines) if line.role == "user")
        step = len([line for line in request.lines[last:] if line.role == "assistant"])
        script = ASKING if self.case.asks else DELEGATING if self.case.delegates else SCRIPT
        script = SCHEDULED if self.case.scheduled else script
        script = CLARIFYING if self.case.clarifies else script
        calls = () if request.lines[last].text == CHILD else script[step]
        said = request.lines[last].text
        return Answer(
            text="" if calls else f"done: {said}",
            calls=tuple(RawCall(c, ARGUMENTS.get(c, "{}")) for c in calls),
        )


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A platform that remembers what it was sent, and, if it knows keys, under which key."""

    case: Case

    @property
    def manifest(self) -> Manifest:
        keyed = self.case.on_doubt == "same_key"
        return Manifest(name="wire", on_doubt="same_key" if keyed else "mark_repeat")

    def render(self, text: str) -> Sequence[str]:
        half = len(text) // 2
        return (text[:half], text[half:])

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        mine = self.case.fuse.reach("send")
        note(self.case.home / "sent", [key, chunk])
        self.case.fuse.leave(mine)
        return key


class NoMedia:
    async def put(self, content: bytes, media_type: str, name: str) -> Media:
        return Media(digest="0", media_type=media_type, name=name)

    async def get(self, media: Media) -> bytes | None:
        return None


async def live(case: Case, *, vfs: str = VFS) -> None:
    """One start: the platform delivers what it never saw acknowledged; everything moves."""
    files = FusedVFS(case.fuse)  # lives as long as the database is open
    store = await open_sqlite(case.home / "hermes.db", clock=time.time, vfs=vfs)
    gateway = build(
        Parts(
            store=store,
            provider=Model(case=case),
            tools=StaticToolset([tool(case, name) for name in CLASSES]),
            channels=[Wire(case=case)],
            media=NoMedia(),
            resume=ResumeRules(attempts_max=50),
            mode="ask" if case.asks else "allow",
        )
    )
    try:
        async with gateway.joined():
            if case.scheduled:
                await keep_time(case.home, gateway)
            else:
                await receive(case, gateway)
            await gateway.settle(KEY)
            await gateway.deliver(KEY)
            if case.asks:
                await click(case, gateway)
            if case.clarifies:
                await answer(case, gateway)
            if case.delegates:
                await move_children(gateway)
    finally:
        await store.upkeep.close()
        files.unregister()
    case.fuse.write_trace()


async def receive(case: Case, gateway: Gateway) -> None:
    known = notes(case.home / "acknowledged")
    for number in range(1, case.messages + 1):
        if number not in known:
            await gateway.accept(say(number))
            note(case.home / "acknowledged", number)


async def move_children(gateway: Gateway) -> None:
    """Let each session do what it can, until their results have come home."""
    while not isinstance((await gateway.store.journal.load(KEY)).phase, Idle):
        for row in await gateway.store.library.sessions(limit=10):
            await gateway.settle(row.key)
            await gateway.deliver(row.key)
    await gateway.deliver(KEY)


async def click(case: Case, gateway: Gateway) -> None:
    """The owner presses the button of what is shown; the platform repeats the press until it is
    acknowledged, and once more for good measure."""
    shown = [text for _, text in notes(case.home / "sent") if "Use the tool" in text]
    rows = await gateway.store.library.questions(limit=10)
    for row in rows if shown else ():
        press = replace(say(0), id=MessageId(f"press {row.id}"), text=f"/approve {row.id}")
        for _ in range(2):
            mine = case.fuse.reach("press")
            await gateway.accept(press)
            case.fuse.leave(mine)
            await gateway.settle(KEY)
    await gateway.deliver(KEY)


async def answer(case: Case, gateway: Gateway) -> None:
    """The person answers what is shown by a number; the platform repeats it until it is
    acknowledged, and once more for good measure."""
    shown = "".join(text for _, text in notes(case.home / "sent"))
    for _ in range(2) if "Which colour?" in shown else ():
        mine = case.fuse.reach("answer")
        await gateway.accept(replace(say(0), id=MessageId("answer"), text="2"))
        case.fuse.leave(mine)
        await gateway.settle(KEY)
    await gateway.deliver(KEY)


Life = Callable[[Case], Awaitable[None]]
