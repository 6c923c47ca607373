"""A message in, a reply out: the engine on a real store, with tools that record their timing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build, new_id
from hermes.channels.local.client import LocalChannel
from hermes.core.budget import TurnLimits
from hermes.core.errors import ProviderDenied, ProviderFailed
from hermes.core.ids import MessageId, session_key
from hermes.core.messages import Address, Effect, Inbound, Line, Outcome, Person, Reply
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.core.store import Store
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.terminals.local import LocalTerminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools

KEY = session_key("local", "dm", "main")
Rule = Callable[[ModelRequest], Answer | ProviderFailed]


def say(text: str) -> Inbound:
    return Inbound(
        id=MessageId(new_id()),
        account="local",
        session=KEY,
        sender=Person(id="owner"),
        address=Address(platform="local", chat="main"),
        text=text,
        at=time.time(),
    )


def step_of(request: ModelRequest) -> int:
    """Return how often the model has answered since the last message."""
    last = max(n for n, line in enumerate(request.lines) if line.role == "user")
    return len([line for line in request.lines[last:] if line.role == "assistant"])


def calls_then_done(*calls: RawCall) -> Rule:
    return lambda request: Answer(text="done") if step_of(request) else Answer(calls=calls)


class Watched:
    """Tools that record when they start and end."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def tool(self, name: str, effect: Effect, *, fault: Exception | None = None) -> Tool:
        async def run(context: ToolContext) -> ToolResult:
            self.log.append(f"+{context.call.id[-1]}")
            await asyncio.sleep(0.05)
            if fault is not None:
                raise fault
            self.log.append(f"-{context.call.id[-1]}")
            return ToolResult(text="ok")

        spec = ToolSpec(name=name, description=name, parameters='{"type":"object"}')
        return Tool(spec=spec, check=lambda _: "", effect=lambda _: effect, run=run)


@asynccontextmanager
async def engine(
    home: Path, rule: Rule, tools: tuple[Tool, ...], *, limits: TurnLimits | None = None
) -> AsyncIterator[tuple[Gateway, Store, list[Reply]]]:
    said: list[Reply] = []
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    gateway = build(
        Parts(
            store=store,
            provider=Scripted(rule),
            tools=StaticToolset(tools),
            channels=[LocalChannel(lambda reply, _text: said.append(reply))],
            media=FileMediaStore(home / "media"),
            limits=limits or TurnLimits(),
        )
    )
    try:
        async with gateway.joined():
            yield gateway, store, said
    finally:
        await store.upkeep.close()


async def transcript(store: Store) -> list[Line]:
    session = await store.journal.load(KEY)
    return list(await store.journal.lines(session.view.spans))


async def talk(gateway: Gateway, text: str) -> None:
    await gateway.accept(say(text))
    await gateway.settle(KEY)
    await gateway.deliver(KEY)


async def test_reads_run_together_and_effects_in_their_order(tmp_path: Path) -> None:
    watched = Watched()
    tools = (watched.tool("look", Effect.READ), watched.tool("pay", Effect.EFFECT))
    names = ("look", "look", "pay", "pay", "look")
    rule = calls_then_done(*(RawCall(name, "{}") for name in names))
    async with engine(tmp_path, rule, tools) as (gateway, _, said):
        await talk(gateway, "go")
    assert set(watched.log[:2]) == {"+1", "+2"}, "the two reads were not under way together"
    assert set(watched.log[2:4]) == {"-1", "-2"}
    assert watched.log[4:] == ["+3", "-3", "+4", "-4", "+5", "-5"]
    assert [reply.text for reply in said] == ["done"]


async def test_what_a_model_got_wrong_is_told_to_it_and_never_run(tmp_path: Path) -> None:
    watched = Watched()
    tools = (watched.tool("look", Effect.READ),)
    wrong = (RawCall("look", "not json"), RawCall("nonsense", "{}"), RawCall("look", "[1]"))
    async with engine(tmp_path, calls_then_done(*wrong), tools) as (gateway, store, said):
        await talk(gateway, "go")
        results = [line for line in await transcript(store) if line.role == "tool"]
    assert [line.outcome for line in results] == [Outcome.FAILED] * 3
    assert "look" in results[1].text, "the closest name is offered"
    assert watched.log == []
    assert said[-1].text == "done"


async def test_a_tool_that_breaks_ends_its_call_and_not_the_turn(tmp_path: Path) -> None:
    watched = Watched()
    tools = (watched.tool("pay", Effect.EFFECT, fault=RuntimeError("boom")),)
    rule = calls_then_done(RawCall("pay", "{}"))
    async with engine(tmp_path, rule, tools) as (gateway, store, said):
        await talk(gateway, "go")
        [result] = [line for line in await transcript(store) if line.role == "tool"]
    assert result.outcome is Outcome.UNKNOWN
    assert "boom" in result.text
    assert said[-1].text == "done"


async def test_a_model_that_cannot_be_asked_ends_the_turn_with_a_reason(tmp_path: Path) -> None:
    async with engine(tmp_path, lambda _: ProviderDenied("no key"), ()) as (gateway, store, said):
        await talk(gateway, "hello")
        [turn] = await store.library.turns(limit=5)
        assert turn.state == "failed"
    assert "no key" in said[-1].text


async def test_a_turn_without_end_is_ended_by_its_limit(tmp_path: Path) -> None:
    watched = Watched()
    tools = (watched.tool("look", Effect.READ),)
    rule: Rule = lambda _: Answer(calls=(RawCall("look", "{}"),))  # noqa: E731
    limits = TurnLimits(steps_max=3)
    async with engine(tmp_path, rule, tools, limits=limits) as (gateway, _, said):
        await talk(gateway, "go")
    assert "after 3 steps" in said[-1].text


async def test_a_stop_ends_the_running_command_and_keeps_the_conversation(tmp_path: Path) -> None:
    terminal = LocalTerminal(tmp_path / "calls", environ={"PATH": "/usr/bin:/bin"})
    tools = default_tools(LocalWorkspace(terminal, workdir=str(tmp_path), home=str(tmp_path)))
    slow = RawCall("terminal", '{"command": "echo begun > mark; sleep 60; echo over > late"}')
    go = calls_then_done(slow)
    rule: Rule = lambda request: (  # noqa: E731
        go(request) if request.lines[0] == request.lines[-1] else Answer(text="done")
    )
    async with engine(tmp_path, rule, tools) as (gateway, store, said):
        await gateway.accept(say("go"))
        while not (tmp_path / "mark").exists():  # noqa: ASYNC110 (another process makes it)
            await asyncio.sleep(0.02)
        began = time.monotonic()
        await talk(gateway, "/stop")
        assert time.monotonic() - began < 20, "the command was waited for"
        assert said[-1].text == "Stopped."
        await talk(gateway, "still there?")
        assert said[-1].text == "done"
        assert [line.role for line in await transcript(store)][:2] == ["user", "assistant"]
    await terminal.close()
    assert not (tmp_path / "late").exists()


async def test_the_directory_and_the_to_do_list_are_remembered(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    terminal = LocalTerminal(tmp_path / "calls", environ={"PATH": "/usr/bin:/bin"})
    tools = default_tools(LocalWorkspace(terminal, workdir=str(tmp_path), home=str(tmp_path)))
    rule = calls_then_done(
        RawCall("terminal", '{"command": "cd deep"}'),
        RawCall("terminal", '{"command": "pwd > here"}'),
        RawCall("todo", '{"todos": [{"id": "1", "content": "sow", "status": "pending"}]}'),
    )
    async with engine(tmp_path, rule, tools) as (gateway, store, _):
        await talk(gateway, "go")
        session = await store.journal.load(KEY)
    await terminal.close()
    assert (tmp_path / "deep" / "here").read_text().strip().endswith("/deep")
    assert "sow" in session.facts.todo
