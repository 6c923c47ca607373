"""What all default tools have in common: small schemas, honest checks, declared effects."""

import json

import pytest

from hermes.core.budget import tokens_of
from hermes.core.errors import ToolFailed
from hermes.core.messages import Effect
from tests.unit.tools.tool_context import Desk

TOKENS_MAX = 1_800
NAMES = [
    "terminal",
    "process",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "todo",
    "send_message",
    "session_search",
]


def test_all_default_tools_together_fit_their_part_of_the_prompt(host: Desk) -> None:
    specs = [tool.spec for tool in host.tools.values()]
    whole = "".join(spec.name + spec.description + spec.parameters for spec in specs)
    assert tokens_of(whole) < TOKENS_MAX


def test_the_tools_have_the_names_that_models_know(host: Desk) -> None:
    assert list(host.tools) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_objects_and_say_what_is_required(host: Desk, name: str) -> None:
    schema = json.loads(host.tools[name].spec.parameters)
    assert schema["type"] == "object"
    assert set(schema.get("required", [])) <= set(schema["properties"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["[]", "7", "null", '{"a":', "{'a': 1}", '"x"', "\x00"])
def test_what_is_no_object_is_refused_with_a_sentence_and_counts_as_an_effect(
    host: Desk, name: str, text: str
) -> None:
    assert host.tools[name].check(text).startswith("Wrong arguments: ")
    assert host.tools[name].effect(text) is Effect.EFFECT


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_argument_is_reported_with_those_that_are_known(host: Desk, name: str) -> None:
    said = host.check(name, recursive=True)
    assert "`recursive`" in said or "required" in said
    assert "The arguments are: " in said


def test_a_missing_argument_is_named(host: Desk) -> None:
    assert "`command`" in host.check("terminal")
    assert "`content`" in host.check("write_file", path="x")


def test_a_wrong_type_is_named_and_a_harmless_one_is_mended(host: Desk) -> None:
    assert "`timeout`" in host.check("terminal", command="ls", timeout="soon")
    assert host.check("terminal", command="ls", timeout="10", background="false") == ""
    assert host.check("read_file", path="x", offset="3", limit=None) == ""


def test_no_text_at_all_means_no_arguments(host: Desk) -> None:
    assert host.tools["todo"].check("") == ""


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("terminal", {"command": "  "}, "command"),
        ("terminal", {"command": "a\x00b"}, "command"),
        ("terminal", {"command": "x" * 70_000}, "command"),
        ("terminal", {"command": "ls", "timeout": 0}, "timeout"),
        ("terminal", {"command": "ls", "timeout": 1e9}, "timeout"),
        ("process", {"action": "poll"}, "id"),
        ("process", {"action": "write", "id": "x"}, "data"),
        ("process", {"action": "wait", "id": "x", "timeout": -1}, "timeout"),
        ("process", {"action": "log", "id": "x", "offset": 0}, "offset"),
        ("process", {"action": "log", "id": "x", "limit": 0}, "limit"),
        ("read_file", {"path": ""}, "path"),
        ("read_file", {"path": "x", "offset": 0}, "offset"),
        ("read_file", {"path": "x", "limit": 5_000}, "limit"),
        ("write_file", {"path": " ", "content": ""}, "path"),
        ("patch", {}, "path"),
        ("patch", {"path": "x"}, "old_string"),
        ("patch", {"path": "x", "old_string": "a"}, "new_string"),
        ("patch", {"patch": "*** Begin Patch\nnonsense"}, "patch"),
        ("patch", {"patch": "x", "old_string": "a"}, "patch"),
        ("search_files", {"pattern": ""}, "pattern"),
        ("search_files", {"pattern": "a\nb"}, "pattern"),
        ("search_files", {"pattern": "a", "limit": 0}, "limit"),
        ("todo", {"todos": [{"id": "1", "content": " ", "status": "pending"}]}, "todos"),
    ],
)
async def test_a_value_that_cannot_work_is_refused_by_its_name(
    host: Desk, name: str, arguments: dict[str, object], field: str
) -> None:
    said = host.check(name, **arguments)
    assert said.startswith(f"{field}: ")
    with pytest.raises(ToolFailed):
        await host.tools[name].run(host.context(name, **arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "effect"),
    [
        ("terminal", {"command": "ls | head"}, Effect.READ),
        ("terminal", {"command": "cd x"}, Effect.IDEMPOTENT),
        ("terminal", {"command": "rm x"}, Effect.EFFECT),
        ("terminal", {"command": "ls", "background": True}, Effect.EFFECT),
        ("process", {"action": "list"}, Effect.READ),
        ("process", {"action": "poll", "id": "x"}, Effect.READ),
        ("process", {"action": "wait", "id": "x"}, Effect.READ),
        ("process", {"action": "log", "id": "x"}, Effect.READ),
        ("process", {"action": "write", "id": "x", "data": "y"}, Effect.EFFECT),
        ("process", {"action": "kill", "id": "x"}, Effect.IDEMPOTENT),
        ("read_file", {"path": "x"}, Effect.READ),
        ("write_file", {"path": "x", "content": ""}, Effect.IDEMPOTENT),
        ("patch", {"path": "x", "old_string": "a", "new_string": "b"}, Effect.EFFECT),
        ("search_files", {"pattern": "x"}, Effect.READ),
        ("todo", {}, Effect.READ),
        ("todo", {"todos": []}, Effect.IDEMPOTENT),
    ],
)
def test_every_tool_declares_its_effect(
    host: Desk, name: str, arguments: dict[str, object], effect: Effect
) -> None:
    assert host.effect(name, **arguments) is effect


def test_only_tools_that_can_look_have_a_seek(host: Desk) -> None:
    assert [name for name, tool in host.tools.items() if tool.recover] == ["terminal", "patch"]


def test_what_runs_as_a_command_can_be_stopped(host: Desk) -> None:
    assert [name for name, tool in host.tools.items() if tool.stop] == ["terminal", "search_files"]
