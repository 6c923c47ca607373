"""SKILL.md: front matter and instructions, by the rules of agentskills.io and a few stricter ones.

A name is ASCII only, so that no two names look alike; whatever a person may want beyond the known
keys goes under `metadata`. All scalars are texts: `version: 1.0` stays `1.0`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import yaml
from msgspec import Struct

from hermes.core.errors import Rejected

FILE = "SKILL.md"
NAME_CHARS_MAX = 64
DESCRIPTION_CHARS_MAX = 1_024
COMPATIBILITY_CHARS_MAX = 500
LICENSE_CHARS_MAX = 500
FRONT_CHARS_MAX = 16_000
FILE_BYTES_MAX = 64_000
METADATA_MAX = 32
DEPTH_MAX = 3
TOOLS_MAX = 64
PARSED_MAX = 256  # parsed files to cache by content: every new conversation lists all skills
KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
FENCE = "---"
BYTE_ORDER_MARK = "\ufeff"

Front = dict[str, str | dict[str, str] | list[str]]


class Form(Struct, frozen=True, kw_only=True):
    """A valid SKILL.md, parsed."""

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = {}
    allowed_tools: tuple[str, ...] = ()


@lru_cache(maxsize=PARSED_MAX)
def parsed(content: bytes) -> Form:
    """Parse a SKILL.md. Raise Rejected with the first problem and its fix."""
    if len(content) > FILE_BYTES_MAX:
        raise Rejected(
            f"{FILE} has more than {FILE_BYTES_MAX:,} bytes; move the details into references/"
        )
    try:
        text = content.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as broken:
        raise Rejected(f"{FILE} is not UTF-8; save it as UTF-8") from broken
    front, body = _split(text)
    keys = _keys(front)
    unknown = sorted(set(keys) - set(KEYS))
    if unknown:
        raise Rejected(
            f"{FILE} has unknown keys: {', '.join(unknown)[:200]}. The known keys "
            f"are {', '.join(KEYS)}; put your own under metadata"
        )
    if not body.strip():
        raise Rejected(f"{FILE} has no instructions below its front matter; write what to do")
    return Form(
        name=checked_name(_text(keys, "name", NAME_CHARS_MAX)),
        description=_one_line(_text(keys, "description", DESCRIPTION_CHARS_MAX)),
        body=body.strip() + "\n",
        license=_text(keys, "license", LICENSE_CHARS_MAX, required=False),
        compatibility=_text(keys, "compatibility", COMPATIBILITY_CHARS_MAX, required=False),
        metadata=_metadata(keys),
        allowed_tools=_tools(keys),
    )


def checked_name(name: str) -> str:
    """Return the name if it is valid. Raise Rejected otherwise."""
    if len(name) > NAME_CHARS_MAX or not NAME.fullmatch(name):
        raise Rejected(
            f"“{name[:NAME_CHARS_MAX]}” is not a valid name for a skill: use 1 to "
            f"{NAME_CHARS_MAX} lower-case letters, digits and single hyphens between them, such as "
            "daily-brief"
        )
    return name


def written(form: Form) -> bytes:
    """Render a SKILL.md with this content."""
    lines = [FENCE, f"name: {form.name}", f"description: {_quoted(form.description)}"]
    if form.license:
        lines.append(f"license: {_quoted(form.license)}")
    if form.compatibility:
        lines.append(f"compatibility: {_quoted(form.compatibility)}")
    if form.allowed_tools:
        lines.append(f"allowed-tools: {_quoted(' '.join(form.allowed_tools))}")
    if form.metadata:
        lines.append("metadata:")
        lines += [f"  {_quoted(key)}: {_quoted(value)}" for key, value in form.metadata.items()]
    return "\n".join([*lines, FENCE, "", form.body.strip(), ""]).encode()


def _split(text: str) -> tuple[str, str]:
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise Rejected(f"{FILE} does not begin with front matter; its first line must be {FENCE}")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            front = "\n".join(lines[1:number])
            if len(front) > FRONT_CHARS_MAX:
                raise Rejected(f"{FILE}: the front matter is longer than {FRONT_CHARS_MAX:,}")
            return front, "\n".join(lines[number + 1 :])
    raise Rejected(f"{FILE}: the front matter has no end; close it with a line {FENCE}")


def _keys(front: str) -> Front:
    """Parse front matter from YAML nodes. Nothing is constructed, so YAML tags and aliases cannot
    create objects or expand (billion laughs)."""
    try:
        _demand_plain(front)
        node = yaml.compose(front, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as broken:
        problem = " ".join(str(broken).split())[:200]
        raise Rejected(
            f"{FILE}: the front matter is not valid YAML ({problem}). A value with “: ” or “#” in "
            "it needs quotes"
        ) from broken
    if not isinstance(node, yaml.MappingNode):
        raise Rejected(f"{FILE}: the front matter must be lines of KEY: VALUE")
    return {key: _value(key, value) for key, value in _pairs(node)}


def _demand_plain(front: str) -> None:
    """Raise Rejected for aliases and deep nesting, before any value is built."""
    depth = 0
    for event in yaml.parse(front, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise Rejected(f"{FILE}: the front matter has YAML aliases (*name); write it out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_MAX:
            raise Rejected(f"{FILE}: the front matter is nested too deep; write plain texts")


def _pairs(node: yaml.MappingNode) -> list[tuple[str, yaml.Node]]:
    pairs: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise Rejected(f"{FILE}: a key of the front matter is not text")
        if key.value in pairs:
            raise Rejected(f"{FILE}: the key {key.value[:64]} occurs twice; keep one")
        pairs[key.value] = value
    return list(pairs.items())


def _value(key: str, node: yaml.Node) -> str | dict[str, str] | list[str]:
    match node:
        case yaml.ScalarNode():
            return str(node.value)
        case yaml.MappingNode():
            return {inner: _scalar(key, value) for inner, value in _pairs(node)}
        case yaml.SequenceNode():
            return [_scalar(key, value) for value in node.value]
        case _:
            raise Rejected(f"{FILE}: {key[:64]} cannot be read")


def _scalar(key: str, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise Rejected(f"{FILE}: {key[:64]} is nested too deep; its values must be plain texts")
    return str(node.value)


def _text(keys: Front, key: str, chars_max: int, *, required: bool = True) -> str:
    value = keys.get(key, "")
    if not isinstance(value, str):
        raise Rejected(f"{FILE}: {key} must be a text")
    value = value.strip()
    if required and not value:
        raise Rejected(f"{FILE}: {key} is missing; write a line {key}: …")
    if len(value) > chars_max:
        raise Rejected(
            f"{FILE}: {key} has {len(value):,} characters, at most {chars_max:,} are allowed"
        )
    return value


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _metadata(keys: Front) -> Mapping[str, str]:
    value = keys.get("metadata", {})
    if value in ("", "null", "~"):
        return {}
    if not isinstance(value, dict):
        raise Rejected(f"{FILE}: metadata must be lines of KEY: VALUE, indented below it")
    if len(value) > METADATA_MAX:
        raise Rejected(f"{FILE}: metadata has more than {METADATA_MAX} keys")
    return value


def _tools(keys: Front) -> tuple[str, ...]:
    """Return the tool names. The format separates them by spaces; accept commas and a list, too."""
    value = keys.get("allowed-tools", "")
    if isinstance(value, dict):
        raise Rejected(f"{FILE}: allowed-tools must be names with spaces between them")
    names = value if isinstance(value, list) else re.findall(r"[^\s,(]+(?:\([^)]*\))?", value)
    if len(names) > TOOLS_MAX:
        raise Rejected(f"{FILE}: allowed-tools has more than {TOOLS_MAX} names")
    return tuple(name.strip() for name in names if name.strip())


def _quoted(text: str) -> str:
    """Return a YAML scalar that parses back to this text."""
    plain = re.fullmatch(r"[A-Za-z0-9(][\w (),./;'-]*[\w).]", text)
    if plain and not re.search(r"\s#|:\s|:$", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
