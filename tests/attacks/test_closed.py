"""POL-10: a clock that jumps, a store that is locked, settings that are broken.

Nothing with an effect happens that was not allowed, and people can go on talking.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build
from hermes.core.channel import Manifest
from hermes.core.messages import Effect, Reply
from hermes.core.policy import Capability
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.gateway.service import Gateway, let_expire
from hermes.providers.scripted import Scripted
from hermes.stores.sqlite import open_sqlite
from hermes.testing.model import Asked, Model, Says, terminal
from tests.attacks.test_approvals import EFFECT, asked, begun, questions, works
from tests.crash.world import KEY, NoMedia, say
from tests.process.gateway import gateway
from tests.process.looks import effects, idle, tried

DAYS_S = 3 * 24 * 3600.0


@dataclass
class World:
    """An engine whose clock belongs to the test."""

    engine: Gateway = field(init=False)
    now: float = field(default_factory=time.time)
    paid: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    said: int = 0

    @property
    def manifest(self) -> Manifest:
        return Manifest(name="wire")

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        self.sent.append(chunk)
        return key

    async def pay(self, context: ToolContext) -> ToolResult:
        self.paid.append(context.call.id)
        return ToolResult(text="paid")

    async def hear(self, text: str) -> str:
        """Send a message and return the answer."""
        self.said += 1
        before = len(self.sent)
        await self.engine.accept(replace(say(self.said), text=text, at=self.now))
        await self.engine.settle(KEY)
        await self.engine.deliver(KEY)
        return "\n".join(self.sent[before:])


def answers(request: ModelRequest) -> Answer:
    last = max(n for n, line in enumerate(request.lines) if line.role == "user")
    if request.lines[last].text == "pay" and len(request.lines) == last + 1:
        return Answer(calls=(RawCall("pay", "{}"),))
    return Answer(text=f"heard {request.lines[last].text}")


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    made = World()
    store = await open_sqlite(folder / "hermes.db", clock=lambda: made.now)
    tool = Tool(
        spec=ToolSpec(name="pay", description="pay", parameters='{"type":"object"}'),
        check=lambda _: "",
        effect=lambda _: Effect.EFFECT,
        run=made.pay,
        capabilities=frozenset({Capability.LASTING}),
    )
    made.engine = build(
        Parts(
            store=store,
            provider=Scripted(answers),
            tools=StaticToolset([tool]),
            channels=[made],
            media=NoMedia(),
            mode="ask",
            clock=lambda: made.now,
        )
    )
    try:
        async with made.engine.joined():
            yield made
    finally:
        await store.upkeep.close()


async def test_pol_10_a_clock_that_jumps_ahead_refuses_and_the_talk_goes_on(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        assert "Use the tool `pay`?" in await here.hear("pay")
        [question] = await here.engine.store.library.questions(limit=5)
        here.now += DAYS_S
        await let_expire(here.engine)
        await here.engine.settle(KEY)
        assert "closed: expired" in await here.hear(f"/approve {question.id}")
        assert await here.hear("hello") == "heard hello"
        assert here.paid == []
        here.now -= DAYS_S
        assert "closed: expired" in await here.hear(f"/approve {question.id}")
        assert here.paid == []


async def test_pol_10_a_clock_that_jumps_back_still_asks_and_pays_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.hear("pay")
        [question] = await here.engine.store.library.questions(limit=5)
        here.now -= DAYS_S
        await let_expire(here.engine)
        assert here.paid == []
        await here.hear(f"/approve {question.id}")
        assert len(here.paid) == 1
        assert await here.hear("hello") == "heard hello"
        assert "closed: used" in await here.hear(f"/approve {question.id}")
        assert "Use the tool `pay`?" in await here.hear("pay"), "an answer is for one call"
        assert len(here.paid) == 1


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the database's lock as another program would."""
    other = apsw.Connection(str(home / "hermes.db"))
    other.set_busy_timeout(10_000)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def test_pol_10_while_the_store_is_locked_nothing_begins_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if "work" in asked.said and not asked.results:
                await model.hold("work")
                return Says(calls=(terminal(EFFECT),))
            return Says("done")

        model.rule = rule
        here.configure(approvals={"mode": "allow"})
        await here.start()
        working = asyncio.create_task(tried(here, "work", key="w"))
        await model.reached("work")
        with locked(here.home):
            model.open("work")
            await asyncio.sleep(2.0)
            assert effects(here) == [], "no call begins that is not written down"
        await working
        await idle(here)
        assert effects(here) == ["done"]
        assert (await here.say("hello")).text == "done"


async def test_pol_10_a_yes_that_cannot_be_written_down_allows_nothing(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        await here.start()
        question = await begun(here)
        path = f"/v1/approvals/{question['id']}"
        with locked(here.home):
            answering = asyncio.create_task(here.post(path, answer="approve"))
            await asyncio.sleep(2.0)
            assert effects(here) == []
            await here.kill()
        await asyncio.gather(answering, return_exceptions=True)
        await here.start()
        for left in await questions(here):
            await here.post(f"/v1/approvals/{left['id']}", answer="deny")
        await idle(here)
        assert len(effects(here)) <= 1


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"approvals: {mode: allow", b"platforms: [\n"])
async def test_pol_10_broken_settings_open_nothing_and_the_talk_goes_on(
    tmp_path: Path, content: bytes
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        await here.start()
        (here.home / "config.yaml").write_bytes(content)
        await asyncio.sleep(1.0)
        assert (await here.say("hello", "other")).status == 200
        await begun(here)
        assert effects(here) == []
        await here.kill()
        await here.hermes("gateway", "run")
        assert await here.health() == 0, "it does not start by settings that it cannot read"
        assert effects(here) == []
        here.configure()
        await here.start()
        [question] = await asked(here)
        await here.post(f"/v1/approvals/{question['id']}", answer="approve")
        await idle(here)
        assert effects(here) == ["done"]
