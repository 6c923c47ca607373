"""Which tools a model is told of: sets and single ones, everywhere and on one platform."""

import pytest

from hermes.settings.check import Checker
from hermes.settings.shape import ToolsOn, ToolsSection
from hermes.settings.toolsets import OTHER, TOOLSETS, offered, toolset_of

TOOLS = ToolsSection(
    disabled=("web", "patch"), platforms={"telegram": ToolsOn(disabled=("terminal", "browser"))}
)


@pytest.mark.parametrize(
    ("tool", "platform", "is_offered"),
    [
        ("read_file", "local", True),
        ("patch", "local", False),
        ("web_search", "telegram", False),
        ("terminal", "local", True),
        ("terminal", "telegram", False),
        ("process", "telegram", False),
        ("browser_click", "telegram", False),
        ("browser_click", "api", True),
        ("something_new", "telegram", True),
    ],
)
def test_a_tool_is_offered_unless_it_or_its_set_is_off(
    tool: str, platform: str, is_offered: bool
) -> None:
    assert offered(TOOLS, tool, platform) is is_offered
    assert offered(ToolsSection(), tool, platform)


def test_every_tool_is_in_one_set() -> None:
    members = [member for each in TOOLSETS.values() for member in each]
    assert len(members) == len(set(members))
    assert toolset_of("mcp_files_read") == "mcp"
    assert toolset_of("something_new") == OTHER


def test_a_wrong_entry_for_one_platform_does_not_cost_the_others() -> None:
    checker = Checker({}, {})
    tree = {"telegram": {"disabeld": ["web"]}, "api": {"disabled": ["web"]}, "x": 1}
    settings = checker.settings({"tools": {"platforms": tree}})
    assert settings.tools.platforms["api"].disabled == ("web",)
    told = [str(problem) for problem in checker.problems]
    assert told[0].startswith("tools.platforms.telegram.disabeld: there is no such setting")
    assert told[1].startswith("tools.platforms.x: ")
