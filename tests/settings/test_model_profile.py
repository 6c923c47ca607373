"""`model.profile`: what a small model is told, and how it answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.core.budget import tokens_of
from hermes.testing.model import Asked, Model, Says, text_of
from tests.settings.chats import chat

TOKENS_MAX = 600
SMALL_NAME = {"name": "qwen2.5-coder:1.5b"}


def step(name: str, **arguments: Any) -> Says:
    return Says(json.dumps({"name": name, "arguments": arguments}), piece=3)


def plays(asked: Asked) -> Says:
    """Write a file, look at it, and tell what is in it."""
    results = [text_of(each) for each in asked.messages if text_of(each).startswith("Result of ")]
    match len(results):
        case 0:
            return step("write_file", path="a.txt", content="forty-two\n")
        case 1:
            return step("terminal", command="cat a.txt")
        case _:
            return step("answer", text=f"It says: {results[-1].split()[3]} “ok”\nDone.")


def is_small(asked: Asked) -> bool:
    return "response_format" in asked.body and not asked.tools


@pytest.mark.setting("model.profile")
async def test_the_small_profile_is_short_has_eight_tools_and_a_grammar(tmp_path: Path) -> None:
    async with Model(plays).up() as model:
        home = chat(tmp_path, model, model={"profile": "small"})
        done = await home.ask("make a.txt and read it")
        assert done.out == "It says: forty-two “ok”\nDone.\n", done.err
        first, last = model.asked[0], model.asked[-1]
        assert all(is_small(asked) for asked in model.asked)
        assert tokens_of(first.system) <= TOKENS_MAX
        forms = first.body["response_format"]["json_schema"]["schema"]["anyOf"]
        assert len(forms) == 1 + 8
        assert first.system.count("\n- ") >= 8
        assert "Examples:" in first.system
        assert "skill" not in first.system
        assert {each.system for each in model.asked} == {first.system}
        assert last.faults == []
        assert last.messages[: len(first.messages)] == first.messages  # the prefix is stable


@pytest.mark.setting("model.profile")
@pytest.mark.parametrize(
    ("section", "small"),
    [
        (SMALL_NAME, True),
        ({**SMALL_NAME, "profile": "full"}, False),
        ({"name": "some-70b"}, False),
        ({}, False),
    ],
)
async def test_a_small_local_model_gets_it_by_itself(
    tmp_path: Path, section: dict[str, str], small: bool
) -> None:
    def rule(asked: Asked) -> Says:
        return step("answer", text="Hello.") if is_small(asked) else Says("Hello.")

    async with Model(rule).up() as model:
        done = await chat(tmp_path, model, model=section).ask("hello")
        assert done.out == "Hello.\n", done.err
        assert is_small(model.asked[0]) is small
        assert len(model.asked[0].tools) == (0 if small else len(model.asked[0].body["tools"]))


@pytest.mark.setting("model.profile")
async def test_a_server_without_grammars_is_asked_again_without_one(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        if "response_format" in asked.body:
            return Says("response_format json_schema is not supported", status=400)
        return plays(asked)

    async with Model(rule).up() as model:
        home = chat(tmp_path, model, model={"profile": "small"})
        done = await home.ask("make a.txt and read it")
        assert "It says: forty-two" in done.out, done.err
        assert ["response_format" in asked.body for asked in model.asked] == [True, *[False] * 3]
