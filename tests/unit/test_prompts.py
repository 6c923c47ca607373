"""The prompt of a conversation, from real files: read when it begins, honest about strangers."""

from pathlib import Path

import pytest

from hermes.agent.prompt import compose
from hermes.app.agent_setup import prompt_parts
from hermes.app.prompts import Prompts, PromptSetting
from hermes.core.budget import tokens_of
from hermes.core.errors import Misconfigured
from hermes.core.facts import SessionFacts
from hermes.core.ids import SessionId, TurnId, session_key
from hermes.core.messages import Address
from hermes.core.ports import PromptPart
from hermes.core.session import Running, Session, Turn
from hermes.ports.terminal import Terminal
from hermes.settings import Settings
from hermes.settings.shape import AgentSection
from hermes.terminals.workspace import LocalWorkspace

HINTS = {"local": "In a terminal.", "telegram": "On a phone."}


class NoTerminal(Terminal):
    """Never used: a prompt runs no command."""


def prompts(tmp_path: Path, **agent: object) -> Prompts:
    for name in ("hermes", "work"):
        (tmp_path / name).mkdir(exist_ok=True)
    here = LocalWorkspace(NoTerminal(), workdir=str(tmp_path / "work"), home=str(tmp_path))
    return Prompts(
        home=tmp_path / "hermes",
        workspace=here,
        settings=Settings(agent=AgentSection(**agent)),  # type: ignore[arg-type]
        hints=HINTS,
        given=lambda owners: (PromptPart("memory", "The cat is called Tom."),) if owners else (),
        clock=lambda: 1_800_000_000.0,
    )


def session(**facts: str) -> Session:
    return Session(
        key=session_key("telegram", "dm", "1"), id=SessionId("s"), facts=SessionFacts(**facts)
    )


async def test_a_prompt_is_read_when_the_conversation_begins(tmp_path: Path) -> None:
    made = prompts(tmp_path)
    before = await made.prompt(session(), True)
    assert before.text.startswith("You are Hermes")
    assert "# memory\nThe cat is called Tom.\n" in before.text
    assert "# platform\nOn a phone.\n" in before.text
    assert f'Working directory: "{tmp_path}/work"' in before.text
    assert before.labels == ()
    assert await made.prompt(session(), True) == before, "the same bytes"
    (tmp_path / "hermes" / "SOUL.md").write_text("You are Ada.")
    (tmp_path / "work" / "AGENTS.md").write_text("Use tabs.")
    after = await made.prompt(session(), True)
    assert after.text.startswith("You are Ada.\n\n# work\n")
    assert "Use tabs." in after.text
    assert after.labels == ("untrusted",)


async def test_what_is_the_owners_is_not_told_where_others_read_along(tmp_path: Path) -> None:
    made = prompts(tmp_path)
    assert "Tom" in (await made.prompt(session(), True)).text
    assert "Tom" not in (await made.prompt(session(), False)).text


async def test_what_the_session_remembers_counts(tmp_path: Path) -> None:
    made = prompts(tmp_path, personalities={"butler": "Very well."}, trusted_dirs=("~/own",))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "AGENTS.md").write_text("Use tabs.")
    here = session(personality="butler", workdir=f"{tmp_path}/own", instructions="In French.")
    prompt = await made.prompt(here, True)
    assert "# personality\nVery well.\n" in prompt.text
    assert "Use tabs." in prompt.text
    assert prompt.labels == ()
    assert prompt.text.endswith("# instructions\nIn French.\n")


async def test_the_chat_that_is_answered_says_what_can_be_shown(tmp_path: Path) -> None:
    address = Address(platform="local", chat="main")
    turn = Turn(id=TurnId("t"), address=address, epoch=1, started_at=1.0, first=1)
    lane = Session(key=session_key("background", "dm", "1"), phase=Running(turn))
    assert "In a terminal." in (await prompts(tmp_path).prompt(lane, True)).text


def test_an_unknown_platform_has_no_hints(tmp_path: Path) -> None:
    parts, _labels, _sources = prompts(tmp_path).parts(PromptSetting(platform="fax", workdir="/"))
    assert [part.name for part in parts] == ["identity", "work", "memory", "conversation"]


@pytest.mark.parametrize(
    "agent",
    [{"personality": "gone"}, {"personalities": {"none": "x"}}, {"trusted_dirs": ("here",)}],
)
def test_settings_that_make_no_sense_stop_the_start(
    tmp_path: Path, agent: dict[str, object]
) -> None:
    with pytest.raises(Misconfigured, match=r"agent\."):
        prompts(tmp_path, **agent)


async def test_all_that_a_new_home_tells_a_model_is_within_its_budget(tmp_path: Path) -> None:
    overhead = await prompt_parts(tmp_path, Settings(), tmp_path, "local")
    parts = {part.name: tokens_of(part.text) for part in overhead.parts}
    tools = {
        tool.name: tokens_of(tool.name + tool.description + tool.parameters)
        for tool in overhead.tools
    }
    assert sum(parts.values()) + sum(tools.values()) <= 4_000, (parts, tools)
    again = await prompt_parts(tmp_path, Settings(), tmp_path, "local")
    assert compose(again.parts) == compose(overhead.parts)
    assert again.tools == overhead.tools
