"""What a model is told of a tool's arguments, made from the Struct that reads them.

The schema is as short as models and providers allow: no titles, defaults or references, because
each request carries it. `Meta(description=…)` on a field is what the model reads about it.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Meta, Struct

from hermes.core.ports import ToolSpec

UNSEEN = Meta(extra_json_schema={"unseen": True})  # accepted, and no model is told of it

_Schema = dict[str, object]
_LEFT_OUT = frozenset({"title", "default"})


def spec_of(
    name: str,
    description: str,
    arguments: type[Struct],
    *,
    described: Mapping[str, str] | None = None,
) -> ToolSpec:
    """`described` has what is only known now: descriptions of arguments, by their names."""
    (reference,), shapes = msgspec.json.schema_components([arguments])
    schema = _inlined(reference, shapes)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    for argument, text in (described or {}).items():
        properties[argument]["description"] = text
    return ToolSpec(
        name=name, description=description, parameters=msgspec.json.encode(schema).decode()
    )


def _inlined(schema: Mapping[str, object], shapes: Mapping[str, Mapping[str, object]]) -> _Schema:
    """Without references. Of several forms the last is shown: the others are tolerated."""
    if "$ref" in schema:
        shape = shapes[str(schema["$ref"]).rpartition("/")[2]]
        return {k: v for k, v in _inlined(shape, shapes).items() if k != "description"}
    found: _Schema = {}
    for key, value in schema.items():
        if key in _LEFT_OUT or value is False or value == []:
            continue
        if key == "anyOf" and isinstance(value, list):
            forms = [form for form in value if form.get("type") != "null"]
            found |= _inlined(forms[-1], shapes)
        elif key == "properties" and isinstance(value, dict):
            shown = {name: each for name, each in value.items() if "unseen" not in each}
            found[key] = {name: _inlined(each, shapes) for name, each in shown.items()}
        elif isinstance(value, dict):
            found[key] = _inlined(value, shapes)
        else:
            found[key] = value
    return found
