"""Toolsets put together: whose tool a name is, what a filter hides, what other names lead to."""

from msgspec.structs import replace

from hermes.agent.toolsets import (
    CombinedToolset,
    FilteredToolset,
    LazyToolset,
    PrefixedToolset,
    RenamedToolset,
    StaticToolset,
    beyond_role,
    for_reviews,
)
from hermes.core.people import Role
from hermes.core.policy import Capability, PolicySubject
from hermes.core.ports import Toolset
from tests.contract.test_toolset import base, scope, tool, without_look


async def names(toolset: Toolset, platform: str = "local") -> list[str]:
    return [each.spec.name for each in await toolset.tools_for(scope(platform))]


async def test_the_first_of_two_tools_with_one_name_counts() -> None:
    one, other = tool("look", description="one"), tool("look", description="other")
    static = StaticToolset([one, tool("more"), other])
    both = CombinedToolset((StaticToolset([one]), StaticToolset([other, tool("more")])))
    for made in (static, both):
        assert await names(made) == ["look", "more"]
        found = made.find("look")
        assert found is not None
        assert found.spec.description == "one"


async def test_only_the_toolset_that_has_a_tool_can_withhold_it() -> None:
    free = CombinedToolset((base(), FilteredToolset(base(), without_look)))
    assert free.withheld("look", scope("api")) == ""
    kept = CombinedToolset((FilteredToolset(base(), without_look), base()))
    assert kept.withheld("look", scope("api")) == "look is off there."


async def test_a_filter_looks_at_the_name_that_models_know() -> None:
    inside = FilteredToolset(PrefixedToolset(base(), "x_"), without_look)
    assert await names(inside, "api") == ["x_look", "x_keep"]
    outside = PrefixedToolset(FilteredToolset(base(), without_look), "x_")
    assert await names(outside, "api") == ["x_keep"]


async def test_a_name_that_was_given_away_leads_nowhere() -> None:
    made = RenamedToolset(base(), {"look": "see"})
    assert await names(made) == ["see", "keep"]
    assert made.find("look") is None
    found = made.find("see")
    assert found is not None
    assert found.spec.name == "see"


async def test_a_look_back_has_only_the_tools_that_are_meant_for_it() -> None:
    made = FilteredToolset(base(), for_reviews)
    back = scope("review")
    assert [each.spec.name for each in await made.tools_for(back)] == ["keep"]
    assert made.withheld("look", back).startswith("A look back at a conversation cannot use")
    assert made.withheld("keep", back) == ""


async def test_a_role_that_speaks_alone_is_not_told_of_what_it_can_never_use() -> None:
    runs, keeps = frozenset({Capability.EXECUTE}), frozenset({Capability.WRITE_SELF})
    looks = frozenset({Capability.READ_UNTRUSTED})
    tools = [
        replace(tool("run"), capabilities=runs),
        replace(tool("keep"), capabilities=keeps),
        replace(tool("open"), capabilities=keeps, ways=(keeps, looks)),
    ]
    made = FilteredToolset(StaticToolset(tools), beyond_role)
    offered = {
        Role.OWNER: ["run", "keep", "open"],
        Role.PAIRED: ["run", "open"],
        Role.MEMBER: ["open"],
        Role.STRANGER: [],
    }
    for role, expected in offered.items():
        shared = replace(scope(), subject=PolicySubject(role))
        alone = replace(shared, alone=True)
        assert [each.spec.name for each in await made.tools_for(alone)] == expected
        assert [each.spec.name for each in await made.tools_for(shared)] == ["run", "keep", "open"]
        assert made.withheld("keep", shared) == "", "there the policy answers each call"
    why = made.withheld("keep", replace(scope(), subject=PolicySubject(Role.PAIRED), alone=True))
    assert why.startswith("The tool “keep” cannot be used here: it changes my memory")


async def test_a_lazy_toolset_is_made_once_and_not_before_it_is_asked() -> None:
    made: list[Toolset] = []

    def make() -> Toolset:
        made.append(base())
        return made[-1]

    lazy = LazyToolset(make)
    assert made == []
    assert await names(lazy) == ["look", "keep"]
    assert lazy.find("look") is not None
    assert len(made) == 1
