"""What every toolset promises, whatever it is made of. A server's or a plugin's runs this, too."""

from collections.abc import Callable

import pytest

from hermes.agent.toolsets import (
    CombinedToolset,
    FilteredToolset,
    LazyToolset,
    PrefixedToolset,
    RenamedToolset,
    StaticToolset,
    for_reviews,
)
from hermes.core.ids import session_key
from hermes.core.messages import Effect
from hermes.core.people import Role
from hermes.core.policy import Hop, PolicySubject
from hermes.core.ports import Tool, ToolContext, ToolResult, ToolScope, Toolset, ToolSpec


async def _run(_context: ToolContext) -> ToolResult:
    return ToolResult(text="done")


def tool(name: str, *, reviews: bool = False, description: str = "") -> Tool:
    return Tool(
        spec=ToolSpec(name=name, description=description, parameters='{"type":"object"}'),
        check=lambda _: "",
        effect=lambda _: Effect.READ,
        run=_run,
        reviews=reviews,
    )


def scope(platform: str = "local") -> ToolScope:
    hops = (Hop("review", frozenset()),) if platform == "review" else ()
    return ToolScope(
        session=session_key(platform, "dm", "x"),
        platforms=frozenset({platform}),
        subject=PolicySubject(Role.OWNER, hops=hops),
    )


def base() -> StaticToolset:
    return StaticToolset([tool("look"), tool("keep", reviews=True)])


def without_look(name: str, _tool: Tool, asked: ToolScope) -> str:
    off = name == "look" and "api" in asked.platforms
    return f"{name} is off there." if off else ""


MAKERS: dict[str, Callable[[], Toolset]] = {
    "static": base,
    "empty": StaticToolset,
    "combined": lambda: CombinedToolset((base(), StaticToolset([tool("look"), tool("more")]))),
    "filtered": lambda: FilteredToolset(base(), without_look),
    "renamed": lambda: RenamedToolset(base(), {"look": "see"}),
    "swapped": lambda: RenamedToolset(base(), {"look": "keep", "keep": "look"}),
    "prefixed": lambda: PrefixedToolset(base(), "mcp_x_"),
    "lazy": lambda: LazyToolset(base),
    "nested": lambda: FilteredToolset(
        CombinedToolset((base(), PrefixedToolset(FilteredToolset(base(), without_look), "p_"))),
        for_reviews,
    ),
}
SCOPES = (scope(), scope("api"), scope("review"))


@pytest.fixture(params=MAKERS)
def toolset(request: pytest.FixtureRequest) -> Toolset:
    return MAKERS[str(request.param)]()


@pytest.mark.parametrize("asked", SCOPES)
async def test_what_is_offered_is_found_under_its_name_and_may_be_called(
    toolset: Toolset, asked: ToolScope
) -> None:
    for offered in await toolset.tools_for(asked):
        found = toolset.find(offered.spec.name)
        assert found is not None
        assert found.spec == offered.spec
        assert toolset.withheld(offered.spec.name, asked) == ""


@pytest.mark.parametrize("asked", SCOPES)
async def test_no_name_is_offered_twice_and_the_order_is_the_same_every_time(
    toolset: Toolset, asked: ToolScope
) -> None:
    names = [each.spec.name for each in await toolset.tools_for(asked)]
    assert len(set(names)) == len(names)
    assert [each.spec.name for each in await toolset.tools_for(asked)] == names


async def test_what_is_offered_somewhere_is_offered_or_withheld_with_a_sentence_elsewhere(
    toolset: Toolset,
) -> None:
    every = {each.spec.name for asked in SCOPES for each in await toolset.tools_for(asked)}
    for asked in SCOPES:
        offered = {each.spec.name for each in await toolset.tools_for(asked)}
        for name in every - offered:
            assert toolset.withheld(name, asked).endswith(".")
            assert toolset.find(name) is not None, "a call that has begun is still looked after"


@pytest.mark.parametrize("name", ["", "nothing", "mcp_x_", "p_", "look\x00"])
def test_a_name_that_is_not_there_is_no_error(toolset: Toolset, name: str) -> None:
    assert toolset.find(name) is None
    assert toolset.withheld(name, scope()) == ""
