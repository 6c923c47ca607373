"""A call in one line: the tool, and its arguments as short as they can be told."""

from collections.abc import Mapping

import msgspec

from hermes.core.messages import Call

CALL_CHARS = 100


def compact(call: Call, width: int = CALL_CHARS) -> str:
    return cut(f"{call.tool} {told(call.arguments)}".rstrip(), width)


def cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def told(arguments: str) -> str:
    try:
        given = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    if not isinstance(given, dict):
        return arguments
    values = list(given.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else _pairs(given)


def _pairs(given: Mapping[str, object]) -> str:
    told = (
        f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in given.items()
    )
    return " ".join(told)
