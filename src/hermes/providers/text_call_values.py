"""Read the values of calls that a model wrote as text: JSON, and texts by their schema. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from msgspec import Struct

from hermes.core.ports import RawCall, ToolSpec
from hermes.providers.aliases import schema_types, tool_of
from hermes.providers.repair import MENDED_CHARS_MAX, relax

CALLS_MAX: Final = 128
NESTED_MAX: Final = 3

Read = tuple[list[RawCall], int] | None

_NAMES: Final = (
    "name",
    "tool_name",
    "tool",
    "function",
    "function_name",
    "action",
    "recipient_name",
)
_ARGUMENTS: Final = (
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "tool_input",
    "action_input",
    "kwargs",
)
_WRAPPED: Final = ("function", "function_call", "tool_call", "tool_calls", "tool_uses", "calls")
_BESIDE: Final = frozenset({"id", "type", "index", "tool_call_id", "call_id", "thought"})
KEYS: Final = frozenset((*_NAMES, *_ARGUMENTS, *_WRAPPED, *_BESIDE))

NAME: Final = r"[A-Za-z_][\w.:/-]{0,79}"


class OfferedTools(Struct, frozen=True):
    """The tools of a request."""

    known: Mapping[str, ToolSpec]

    def call(self, name: str, arguments: object) -> RawCall | None:
        """Return the call if the tool is known and the arguments are an object, or JSON of one."""
        if tool_of(name, self.known) is None:
            return None
        if isinstance(arguments, str):
            read = read_json(arguments, 0) if arguments.strip() else ({}, 0)
            if read is None or arguments[read[1] :].strip():
                return None
            arguments = read[0]
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            return None
        return RawCall(name, json.dumps(arguments, ensure_ascii=False))

    def typed(self, name: str, pairs: Sequence[tuple[str, str]]) -> RawCall | None:
        """Return the call whose values were written as text; the schema says what each is."""
        tool = tool_of(name, self.known)
        if tool is None:
            return None
        types = schema_types(self.known[tool])
        return self.call(name, {key: _value(text, types.get(key)) for key, text in pairs})


def read_json(text: str, at: int) -> tuple[object, int] | None:
    """Return the JSON object or list that begins there, and where it ends. None: it is not one, or
    it is cut off."""
    while at < len(text) and text[at].isspace():
        at += 1
    if text[at : at + 1] not in ("{", "["):
        return None
    try:
        found, end = _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _relaxed(text, at)
    return found, end


def calls_in(value: object, offered: OfferedTools, depth: int = 0) -> list[RawCall]:
    """Return the calls that a JSON value is. Empty: it is, or contains, something else."""
    if depth > NESTED_MAX:
        return []
    if isinstance(value, list):
        each = [calls_in(one, offered, depth + 1) for one in value[: CALLS_MAX + 1]]
        return [call for calls in each for call in calls] if all(each) else []
    if not isinstance(value, dict):
        return []
    inner = [key for key in _WRAPPED if isinstance(value.get(key), dict | list)]
    if inner:
        alone = all(key in _BESIDE or key == inner[0] for key in value)
        return calls_in(value[inner[0]], offered, depth + 1) if alone else []
    call = _object(value, offered)
    return [call] if call is not None else []


def _object(value: dict[str, object], offered: OfferedTools) -> RawCall | None:
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if name_key is None:
        return None
    name = str(value[name_key])
    given = [key for key in _ARGUMENTS if key in value]
    rest = {key: one for key, one in value.items() if key != name_key and key not in _BESIDE}
    if len(given) == 1 and set(rest) == set(given):
        return offered.call(name, value[given[0]])
    tool = tool_of(name, offered.known)
    if given or tool is None:
        return None
    fits = bool(rest) and set(rest) <= set(schema_types(offered.known[tool]))
    return offered.call(name, rest) if fits else None  # its arguments stand beside its name


def skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _value(text: str, kind: object) -> object:
    """Return a value that was written without quotes. Where its tags stand on lines of their own,
    their line breaks are not part of it."""
    bare = text[1:].removesuffix("\n") if text.startswith("\n") else text
    if kind in ("string", None):
        return bare
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return {"True": True, "False": False}.get(bare.strip(), bare)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_decoder: Final = json.JSONDecoder(strict=False, parse_constant=_refuse)


def _relaxed(text: str, at: int) -> tuple[object, int] | None:
    if len(text) - at > MENDED_CHARS_MAX:
        return None
    strict, rest = relax(text[at:])
    if rest is None:
        return None
    try:
        return json.loads(strict), len(text) - len(rest)
    except (ValueError, RecursionError):
        return None
