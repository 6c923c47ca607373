"""A model behind a server that parses nothing: calls and thoughts arrive as text."""

import json
from pathlib import Path

from tests.settings.chats import chat

from hermes.testing.model import Asked, Model, Says


async def test_a_call_written_as_text_is_made_and_sent_back_as_a_call(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        if asked.results:
            return Says(f"It says {asked.results[-1]}")
        call = {"name": "bash", "arguments": {"cmd": "echo made > made.txt; cat made.txt"}}
        return Says(f"Let me try.\n<tool_call>\n{json.dumps(call)}\n</tool_call>", piece=5)

    async with Model(rule).up() as model:
        home = chat(tmp_path, model)
        done = await home.ask("make the file")
        assert "It says made" in done.out, done.err
        assert "tool_call" not in done.out + done.err
        [call] = model.asked[-1].messages[-2]["tool_calls"]
        assert call["function"]["name"] == "terminal"
        assert model.asked[-1].messages[-2]["content"] == "Let me try."
        assert model.asked[-1].faults == []


async def test_nothing_of_a_thought_is_shown_kept_or_sent_back(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        if len(asked.messages) > 2:
            return Says("Again.\n<think>a later SECRET</think>\nYes.")
        return Says("The person greets. SECRET.\n</think>\n\nHello there.", piece=4)

    async with Model(rule).up() as model:
        home = chat(tmp_path, model)
        done = await home.ask("hello")
        assert done.out == "Hello there.\n"
        more = await home.run("chat", "-c", "-q", "again")
        assert more.out == "Again.\nYes.\n", more.err
        assert "SECRET" not in model.asked[-1].everything


async def test_a_skill_called_like_a_tool_is_answered_with_how_to_view_it(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        if asked.results:
            return Says(asked.results[-1])
        return Says(calls=(("git_commit", {}),))

    async with Model(rule).up() as model:
        done = await chat(tmp_path, model).ask("commit")
        assert (
            '“git-commit” is a skill, not a tool. Read its instructions with skill_view {"name"'
            in (done.out)
        )
