"""`execute_code` before anything starts: what it refuses, what it says of itself, what it costs."""

import json
import os
from pathlib import Path

import pytest

from hermes.agent.toolsets import StaticToolset
from hermes.core.budget import tokens_of
from hermes.core.ports import Tool, ToolContext, ToolSpec
from hermes.core.rules import Ask
from hermes.terminals.local import LocalTerminal
from hermes.terminals.scripts import LocalScripts
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.clarify import clarify_tool
from hermes.tools.code.execute import CODE_BYTES_MAX, CodePlace, execute_code_tool
from hermes.tools.code.library import functions_for
from hermes.tools.code.script import CodeLimits


async def _no_labels(_context: ToolContext) -> tuple[str, ...]:
    return ()


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    terminal = LocalTerminal(tmp_path / "calls", environ=os.environ)
    place = CodePlace(
        workspace=LocalWorkspace(terminal, workdir=str(tmp_path), home=str(tmp_path)),
        tools=lambda: StaticToolset(()),
        scripts=LocalScripts(tmp_path / "calls"),
        limits=CodeLimits(),
        begin=_no_labels,
    )
    return execute_code_tool(place)


def cost(tool: Tool) -> int:
    return tokens_of(tool.spec.name + tool.spec.description + tool.spec.parameters)


def test_the_prompt_pays_little_for_scripts_and_questions(tool: Tool) -> None:
    assert cost(tool) <= 400
    assert cost(clarify_tool()) <= 120


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("", "empty"),
        ("print(1", "line 1"),
        ("x = 1\nif x\n  pass", "line 2"),
        ("print('\x00')", "NUL"),
        ("x = 1 # \u202e evil", "deceptive"),
        ("admin\u200b = 1", "deceptive"),
        ("#" * (CODE_BYTES_MAX + 1), "longer than"),
        ("(" * 5_000 + ")" * 5_000, "Nothing was run"),
    ],
)
def test_x13_x14_what_cannot_run_is_refused_before_anything_starts(
    tool: Tool, code: str, why: str
) -> None:
    assert why in tool.check(json.dumps({"code": code}))


def test_plain_text_of_any_language_is_code(tool: Tool) -> None:
    assert tool.check(json.dumps({"code": "print('Grüße, 你好, 👋')", "timeout": 5})) == ""
    assert "timeout" in tool.check(json.dumps({"code": "1", "timeout": -1}))


def test_a_script_is_asked_about_like_a_command(tool: Tool) -> None:
    found = tool.judge(json.dumps({"code": "print(1)"}), {})
    assert isinstance(found.verdict, Ask)
    assert found.template is None, "“always” is never for a program that can do anything"
    assert found.code is not None, "“for this folder” covers other scripts, in a whole box"
    assert tool.present is not None
    seen = tool.present(json.dumps({"code": "print(1)\nprint(2)"}), {})
    assert seen.text == "print(1)\nprint(2)"
    assert "2 lines" in seen.notes[0]


def test_c86_a_script_has_no_tool_that_its_turn_has_not() -> None:
    spec = ToolSpec(
        name="mcp_time_now",
        description="",
        parameters='{"type":"object","properties":{"zone":{},"class":{}},"required":["zone"]}',
    )
    assert functions_for([spec]) == "", "a name that is a keyword is reached by `call` alone"
    assert functions_for([]) == ""
