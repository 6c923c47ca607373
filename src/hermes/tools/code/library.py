"""Write the functions of one script's library: one for each tool that its turn has. Pure."""

import keyword
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from hermes.core.ports import ToolSpec


class _Schema(Struct, frozen=True):
    """What a function needs of a tool's JSON schema."""

    properties: dict[str, msgspec.Raw] = {}
    required: tuple[str, ...] = ()


def functions_for(specs: Iterable[ToolSpec]) -> str:
    """Return the text of a function for each of these tools, and no other."""
    return "".join(map(_function, specs))


def _function(spec: ToolSpec) -> str:
    """Return a function of the tool; "" for one whose names are no names in Python: `call` reaches
    it all the same."""
    schema = msgspec.json.decode(spec.parameters, type=_Schema)
    names = sorted(schema.properties, key=lambda name: name not in schema.required)
    if not all(_is_name(name) for name in (spec.name, *names)):
        return ""
    given = [name if name in schema.required else f"{name}=None" for name in names]
    passed = "".join(f", {name}={name}" for name in names)
    head = f"\n\ndef {spec.name}({', '.join(given)}):\n"
    return f"{head}    return call({spec.name!r}{passed})\n"


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
