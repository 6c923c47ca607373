"""Encode tools and history for small models, as plain text and a grammar. Pure.

A small model loses its way in JSON schemas and in roles that it seldom saw. It is told each tool in
one line with worked examples, writes one JSON object at a time (a call or its answer), and reads
results as what the person says next. Where the server can, a schema keeps it to that form.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct

from hermes.core.messages import Line
from hermes.core.ports import ToolSpec
from hermes.core.transcript import spoken
from hermes.providers.pieces import NO_OUTPUT, label_of

Json = dict[str, object]

ANSWER: Final = "answer"
TOOL_LISTS_MAX: Final = 16
HEAD: Final = """\
# tools
Write one JSON object, a call or your answer; after a call you get its result:
{"name": TOOL, "arguments": {…}}
{"name": "answer", "arguments": {"text": "…"}}"""
# The arguments that a small model is told of; those with a star it has to give. Of a tool that is
# not here it is told all.
_TOLD: Final[Mapping[str, str]] = {
    "terminal": "command*",
    "read_file": "path* offset limit",
    "write_file": "path* content*",
    "patch": "path* old_string* new_string*",
    "search_files": "pattern* target path",
    "todo": "todos*",
    "session_search": "query*",
    "memory": "action* target* content* old_text",
}
_EXAMPLES: Final = (
    (
        ("read_file", "patch"),
        """\
User: In notes.txt, Ana should be Eva.
{"name": "read_file", "arguments": {"path": "notes.txt"}}
Result of read_file: 1|Call Ana at 5
{"name": "patch", "arguments": {"path": "notes.txt", "old_string": "Ana", "new_string": "Eva"}}
Result of patch: Changed notes.txt
{"name": "answer", "arguments": {"text": "Done: Call Eva at 5"}}""",
    ),
    (
        ("terminal",),
        """\
User: Run save.sh.
{"name": "terminal", "arguments": {"command": "sh save.sh"}}
Result of terminal: 3 files saved
{"name": "answer", "arguments": {"text": "save.sh says: 3 files saved"}}""",
    ),
)


@lru_cache(maxsize=TOOL_LISTS_MAX)
def described(tools: tuple[ToolSpec, ...]) -> str:
    """Return the tools in one line each, with examples of their use."""
    names = {tool.name for tool in tools}
    shown = [text for needed, text in _EXAMPLES if names.issuperset(needed)]
    examples = ["Examples:", *shown] if shown else []
    return "\n".join([HEAD, *(_line(tool) for tool in tools), *examples])


@lru_cache(maxsize=TOOL_LISTS_MAX)
def grammar(tools: tuple[ToolSpec, ...]) -> Json:
    """Return `response_format`: one call of a tool, or the answer."""
    text = _Schema(properties={"text": {"type": "string"}}, required=["text"])
    every = [_form(ANSWER, text), *(_form(tool.name, _schema(tool)) for tool in tools)]
    return {"type": "json_schema", "json_schema": {"name": "step", "schema": {"anyOf": every}}}


def messages(lines: Sequence[Line]) -> list[Json]:
    """Return the conversation: what the model wrote as the objects it was asked for, results as
    words of the person."""
    found: list[Json] = []
    tools = {call.id: call.tool for line in lines for call in line.calls}
    for line in lines:
        role = "assistant" if line.role == "assistant" else "user"
        attached = [f"[Attached: {label_of(media)}; you cannot see it.]" for media in line.media]
        text = "\n".join([*_pieces(line, tools.get(line.call, "the tool")), *attached])
        if not text.strip():
            continue
        if found and found[-1]["role"] == role:
            found[-1]["content"] = f"{found[-1]['content']}\n\n{text}"
        else:
            found.append({"role": role, "content": text})
    return found


def _pieces(line: Line, tool: str) -> Iterator[str]:
    if line.role == "tool":
        yield f"Result of {tool}: {spoken(line) or NO_OUTPUT}"
    elif line.role != "assistant":
        yield spoken(line)
    elif line.calls:
        for call in line.calls:
            yield f'{{"name": {_json(call.tool)}, "arguments": {call.arguments}}}'
    elif line.text.strip():
        yield f'{{"name": "{ANSWER}", "arguments": {{"text": {_json(line.text)}}}}}'


def _line(tool: ToolSpec) -> str:
    schema = _schema(tool)
    given = [
        _argument(name, each, needed=name in schema.required)
        for name, each in schema.properties.items()
    ]
    first = re.split(r"[.;:(]", tool.description, maxsplit=1)[0].strip()
    return f"- {tool.name}({', '.join(given)}): {first}"


def _argument(name: str, schema: Json, *, needed: bool) -> str:
    choices, items = schema.get("enum"), schema.get("items")
    inner = items.get("properties") if isinstance(items, dict) else None
    said = name
    if isinstance(choices, list):
        said = f"{name}={'|'.join(map(str, choices))}"
    elif isinstance(inner, dict):
        said = f"{name}=[{{{', '.join(inner)}}}]"
    return said if needed else f"{said}?"


def _form(name: str, schema: "_Schema") -> Json:
    arguments = {
        "type": "object",
        "properties": schema.properties,
        "required": schema.required,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


class _Schema(Struct, kw_only=True):
    """The schema of a tool's arguments, as far as a small model is told of it."""

    properties: dict[str, Json] = {}
    required: list[str] = []


def _schema(tool: ToolSpec) -> _Schema:
    found = msgspec.json.decode(tool.parameters, type=_Schema)
    told = _TOLD.get(tool.name, "").split()
    kept = {name.rstrip("*"): name.endswith("*") for name in told}
    if not kept or not set(kept) <= set(found.properties):
        return found
    return _Schema(
        properties={name: found.properties[name] for name in kept},
        required=[name for name, needed in kept.items() if needed],
    )


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
