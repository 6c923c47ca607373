"""A conversation's list of tools outlives the tools: the engine on a real store, twice."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace
from tests.journey.test_engine import KEY, Watched, step_of, talk, transcript

from hermes.agent.toolsets import FilteredToolset, StaticToolset
from hermes.app.engine import Parts, build
from hermes.channels.local.client import LocalChannel
from hermes.core.events import PromptMade
from hermes.core.fold import fold
from hermes.core.messages import Effect, Outcome
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolScope, Toolset, ToolSpec
from hermes.core.session import Session
from hermes.core.store import Store
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite


class Model:
    """Makes these calls for each message, and keeps what it was told of tools."""

    def __init__(self, *calls: str) -> None:
        self.calls = tuple(RawCall(name, "{}") for name in calls)
        self.told: list[tuple[ToolSpec, ...]] = []

    def __call__(self, request: ModelRequest) -> Answer:
        self.told.append(request.tools)
        done = step_of(request) or not self.calls
        return Answer(text="done") if done else Answer(calls=self.calls)


class Faltering(StaticToolset):
    """A server that is not there when the conversation begins."""

    down = True

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        if self.down:
            self.down = False
            raise ConnectionError("no answer")
        return await super().tools_for(scope)


@asynccontextmanager
async def engine(home: Path, model: Model, tools: Toolset) -> AsyncIterator[tuple[Gateway, Store]]:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    parts = Parts(
        store=store,
        provider=Scripted(model),
        tools=tools,
        channels=[LocalChannel(lambda _reply, _text: None)],
        media=FileMediaStore(home / "media"),
    )
    gateway = build(parts)
    try:
        async with gateway.joined():
            yield gateway, store
    finally:
        await store.upkeep.close()


def names(told: tuple[ToolSpec, ...]) -> list[str]:
    return [spec.name for spec in told]


async def test_a_conversation_reads_the_tools_that_it_began_with(tmp_path: Path) -> None:
    watched = Watched()
    pay = watched.tool("pay", Effect.EFFECT)
    first = Model()
    tools = StaticToolset([watched.tool("look", Effect.READ), pay])
    async with engine(tmp_path, first, tools) as (gateway, _):
        await talk(gateway, "hello")
    changed = replace(pay, spec=replace(pay.spec, description="another sentence"))
    then = Model("look", "pay", "more")
    tools = StaticToolset([watched.tool("more", Effect.READ), changed])
    async with engine(tmp_path, then, tools) as (gateway, store):
        await talk(gateway, "go")
        found = [line for line in await transcript(store) if line.role == "tool"]
    assert set(then.told) == set(first.told)
    assert [line.outcome for line in found] == [Outcome.FAILED, Outcome.OK, Outcome.FAILED]
    assert "“look” is no longer there" in found[0].text
    assert "There is no tool named “more”" in found[2].text
    assert watched.log == ["+2", "-2"]


async def test_a_list_that_was_not_written_down_is_todays(tmp_path: Path) -> None:
    watched, model = Watched(), Model()
    async with engine(tmp_path, model, Faltering([watched.tool("look", Effect.READ)])) as (one, _):
        await talk(one, "hello")
    later = StaticToolset([watched.tool("more", Effect.READ)])
    async with engine(tmp_path, model, later) as (other, store):
        await talk(other, "again")
        assert not (await store.journal.load(KEY)).facts.tools
    assert [names(told) for told in model.told] == [["look"], ["more"]]


async def test_a_tool_that_is_switched_off_before_its_call_begins_does_not_run(
    tmp_path: Path,
) -> None:
    watched, model = Watched(), Model("look", "pay")
    tools = StaticToolset([watched.tool("look", Effect.READ), watched.tool("pay", Effect.EFFECT)])

    def why(name: str, _tool: Tool, _scope: ToolScope) -> str:
        return "It is switched off." if name == "pay" and watched.log else ""

    async with engine(tmp_path, model, FilteredToolset(tools, why)) as (gateway, store):
        await talk(gateway, "go")
        found = [line for line in await transcript(store) if line.role == "tool"]
    assert [line.outcome for line in found] == [Outcome.OK, Outcome.DENIED]
    assert found[1].text == "It is switched off."
    assert watched.log == ["+1", "-1"]
    assert [names(told) for told in model.told] == [["look", "pay"]] * 2


def test_a_prompt_of_an_older_version_has_no_list_of_tools() -> None:
    before = fold(Session(key=KEY), PromptMade("p1", 1.0, tools="t1"))
    assert before.facts.by_name() == {"prompt": "p1", "tools": "t1"}
    assert fold(before, PromptMade("p2", 2.0)).facts.by_name() == {"prompt": "p2"}
