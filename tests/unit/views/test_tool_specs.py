"""What a model is told of arguments comes from the Struct that reads them, and is short."""

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from hermes.core.ports import Tool
from hermes.memory.tool import MemoryArguments
from hermes.ports.terminal import Terminal
from hermes.skills.tools import ManageArguments
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools
from hermes.tools.files.patch import PatchArguments
from hermes.views.tool_specs import UNSEEN, spec_of


class Part(Struct, frozen=True):
    """A docstring that no model pays for."""

    name: str
    size: int = 0


class Whole(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["a", "b"]
    title: Annotated[str | None, Meta(description="what it is called")] = None
    parts: tuple[Part, ...] = ()
    lenient: str | tuple[str, ...] = ()
    words: dict[str, str] = {}
    old_name: Annotated[str | None, UNSEEN] = None


class _NoTerminal(Terminal):
    """Never used: only the tools' schemas are read."""


def schema(shape: type[Struct], **described: str) -> dict[str, Any]:
    text = spec_of("it", "Does it.", shape, described=described).parameters
    return dict(json.loads(text))


def tools() -> dict[str, Tool]:
    made = default_tools(LocalWorkspace(_NoTerminal(), workdir="/", home="/"))
    return {tool.spec.name: tool for tool in made}


def test_a_schema_is_whole_and_has_nothing_that_costs_without_saying_anything() -> None:
    part = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        "required": ["name"],
    }
    assert schema(Whole) == {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "title": {"description": "what it is called", "type": "string"},
            "parts": {"type": "array", "items": part},
            "lenient": {"type": "array", "items": {"type": "string"}},
            "words": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["kind"],
    }


def test_what_is_only_known_when_a_tool_is_made_is_said_there() -> None:
    told = schema(Whole, kind="default a")["properties"]
    assert told["kind"] == {"enum": ["a", "b"], "description": "default a"}
    assert "description" not in schema(Whole)["properties"]["kind"]


@pytest.mark.parametrize("name", list(tools()))
def test_no_provider_refuses_the_schema_of_a_tool(name: str) -> None:
    text = tools()[name].spec.parameters
    assert not [word for word in ("$ref", "$defs", '"title"', "anyOf", '"null"') if word in text]
    _walk(json.loads(text))


def _walk(node: dict[str, Any]) -> None:
    assert node.keys() <= {
        *("type", "properties", "required", "items", "enum", "description"),
        "additionalProperties",
    }
    assert "type" in node or "enum" in node
    for child in node.get("properties", {}).values():
        _walk(child)
    if "items" in node:
        _walk(node["items"])


@pytest.mark.parametrize("shape", [MemoryArguments, ManageArguments, PatchArguments])
def test_every_field_is_told_but_those_that_are_only_tolerated(shape: type[Struct]) -> None:
    names = {field.encode_name for field in msgspec.structs.fields(shape)}
    assert names - set(schema(shape)["properties"]) == ({"mode"} & names)


def test_the_time_limit_that_is_set_is_the_one_that_models_read() -> None:
    made = default_tools(LocalWorkspace(_NoTerminal(), workdir="/", home="/"), timeout_s=42.0)
    told = json.loads(made[0].spec.parameters)["properties"]["timeout"]
    assert told == {"type": "number", "description": "seconds, default 42"}
