"""A platform is one value: what it declares is there, and everything else reads the value."""

import re
import tomllib
from pathlib import Path

import pytest

from hermes.app.platforms import CHANNELS, backup_folders, plugin_of, plugins, section_problem
from hermes.channels.kit.plugin import ChannelPlugin
from tests.doubles.telegram import TOKEN, BotApi

ROOT = Path(__file__).parents[4]
FOLDERS = ROOT / "src" / "hermes" / "channels"
EVERY = pytest.mark.parametrize("plugin", plugins(), ids=lambda plugin: plugin.name)


def test_every_folder_with_a_plugin_is_one_word_in_the_list() -> None:
    found = {path.parent.name for path in FOLDERS.glob("*/plugin.py")} - {"kit"}
    assert found == set(CHANNELS)


@EVERY
def test_a_platform_is_named_as_its_folder_and_its_page_names_every_key(
    plugin: ChannelPlugin,
) -> None:
    assert plugin_of(plugin.name) is plugin
    page = (ROOT / "docs" / plugin.docs).read_text(encoding="utf-8")
    assert [key for key in plugin.keys if not re.search(rf"\b{key}\b", page)] == []


@EVERY
def test_its_requirement_set_exists_and_its_folders_are_backed_up(plugin: ChannelPlugin) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not plugin.extra or plugin.extra in project["optional-dependencies"]
    assert bool(plugin.extra) == bool(plugin.packages)
    assert set(plugin.folders) <= set(backup_folders())


@EVERY
def test_every_question_says_where_its_answer_is_found(plugin: ChannelPlugin) -> None:
    assert plugin.questions
    for question in plugin.questions:
        assert question.ask
        assert question.where
        assert question.secret or question.key in plugin.keys
        assert bool(question.stand_in) == question.secret


def test_a_section_is_checked_before_its_secret_is_set() -> None:
    assert section_problem("telegram", {"allowed_users": [7]}, {}) is None
    assert section_problem("api", {"port": 1}, {}) is None
    problem = section_problem("telegram", {"allowed_users": ["ada"]}, {})
    assert problem is not None
    assert problem.key == "platforms.telegram.allowed_users"


async def test_the_check_is_one_call_and_gives_the_link_that_people_need() -> None:
    plugin = plugin_of("telegram")
    async with BotApi() as api:
        checked = await plugin.check({"token": TOKEN, "api_base": api.url}, {})
        assert (checked.ok, checked.link) == (True, "https://t.me/hermes_bot")
        assert [call.method for call in api.calls] == ["getMe"]
        refused = await plugin.check({"token": "1:wrong", "api_base": api.url}, {})
        assert (refused.ok, refused.said) == (False, "Telegram does not know this token")
    gone = await plugin.check({"token": TOKEN, "api_base": api.url}, {})
    assert gone.ok is None
    assert "cannot be reached" in gone.said
