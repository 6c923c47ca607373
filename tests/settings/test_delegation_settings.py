"""`delegation.…`: what subagents are given, and how far they may go."""

from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.settings.chats import chat

DELEGATE = "delegate_task"


def kept_in(folder: Path) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in folder.rglob(".subagents/reports/*.md")]


class Delegating:
    """A parent that delegates once, and a child by a rule."""

    def __init__(self, child: Any, arguments: dict[str, Any] | None = None) -> None:
        self.child = child
        self.arguments = arguments or {"goal": "a part"}
        self.children: list[Asked] = []

    def __call__(self, asked: Asked) -> Says:
        if "You are a subagent" in asked.system:
            self.children.append(asked)
            found = self.child(asked)
            assert isinstance(found, Says)
            return found
        done = asked.results
        return Says("\n".join(done)) if done else Says(calls=((DELEGATE, self.arguments),))


@pytest.mark.setting("delegation.model", "delegation.toolsets")
async def test_a_subagent_has_the_model_and_the_tools_of_the_settings(tmp_path: Path) -> None:
    rule = Delegating(lambda _asked: Says("done"))
    async with Model(rule).up() as model:
        wanted = {"model": "custom:other", "toolsets": ["todo"]}
        done = await chat(tmp_path, model, delegation=wanted).ask("hello")
    assert "custom:other" in done.out
    [asked] = rule.children
    assert asked.body["model"] == "other"
    assert asked.tools == {"todo"}


@pytest.mark.setting("delegation.turn_limit")
async def test_a_subagent_ends_after_that_many_requests(tmp_path: Path) -> None:
    rule = Delegating(lambda _asked: Says(calls=(("search_files", {"pattern": "x"}),)))
    async with Model(rule).up() as model:
        done = await chat(tmp_path, model, delegation={"turn_limit": 2}).ask("hello")
    assert "Subagent failed" in done.out
    assert "I stopped after 2 steps" in done.out
    assert len(rule.children) == 2


@pytest.mark.setting("delegation.depth", "delegation.max_parallel")
async def test_with_a_depth_of_one_no_subagent_delegates(tmp_path: Path) -> None:
    rule = Delegating(lambda _asked: Says("done"), {"goal": "a part", "role": "orchestrator"})
    async with Model(rule).up() as model:
        here = chat(tmp_path, model, delegation={"depth": 1, "max_parallel": 1})
        await here.ask("hello")
    [asked] = rule.children
    assert DELEGATE not in asked.tools


@pytest.mark.setting("delegation.summary_chars")
async def test_a_long_report_is_cut_and_the_whole_is_a_file(tmp_path: Path) -> None:
    words = " ".join(f"w{n}" for n in range(2_000))
    rule = Delegating(lambda _asked: Says(words))
    async with Model(rule).up() as model:
        done = await chat(tmp_path, model, delegation={"summary_chars": 1_000}).ask("hello")
    assert len(done.out) < 3_000
    assert "bytes are left out; read_file" in done.out
    assert kept_in(tmp_path) == [words]
