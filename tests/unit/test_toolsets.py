"""Which tools a model is told of: sets and single ones, everywhere and on one platform."""

import pytest

from hermes.settings.check import Checker
from hermes.settings.shape import ToolsOn, ToolsSection
from hermes.settings.toolsets import OTHER, TOOLSETS, offered, refusal, toolset_of

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


@pytest.mark.parametrize(
    ("tool", "platforms", "fix"),
    [
        ("patch", {"local"}, "hermes tools enable patch"),
        ("web_search", {"telegram"}, "hermes tools enable web"),
        ("process", {"telegram"}, "hermes tools enable terminal --platform telegram"),
        ("process", {"api", "telegram"}, "hermes tools enable terminal --platform telegram"),
    ],
)
def test_a_tool_that_is_off_names_the_command_that_switches_it_on(
    tool: str, platforms: set[str], fix: str
) -> None:
    said = refusal(TOOLS, tool, platforms)
    assert said.startswith(f"The tool “{tool}” is switched off here.")
    assert said.endswith(f": {fix}")
    assert refusal(TOOLS, "todo", platforms) == ""


def test_what_was_not_handed_on_is_refused_and_what_is_off_stays_off() -> None:
    assert refusal(ToolsSection(), "terminal", {"api"}, ()) == ""
    assert refusal(ToolsSection(), "process", {"api"}, ("terminal", "todo")) == ""
    assert "was not given to you" in refusal(ToolsSection(), "memory", {"api"}, ("terminal",))
    assert "switched off" in refusal(TOOLS, "patch", {"api"}, ("patch",))


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
