"""Render a tool call on one line: the tool and its arguments, shortened."""

import re
from collections.abc import Mapping

import msgspec

from hermes.core.messages import Call

CALL_CHARS = 100
_ENDING = re.compile(r"(?:^|\n)\[([^\n]*)\]$")
_EXIT = "exit status "
_BLOCKED = "blocked by the sandbox"


def compact(call: Call, width: int = CALL_CHARS) -> str:
    return cut(f"{call.tool} {told(call.arguments)}".rstrip(), width)


def cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def why_failed(result: str) -> str:
    """Return the last line that a failed command printed, and what its sandbox blocked; "" if the
    result has neither."""
    body, bracket = result.rstrip(), ""
    if found := _ENDING.search(body):
        body, bracket = body[: found.start()].rstrip(), found[1]
    notes = bracket.split("; ")
    at = next((n for n, note in enumerate(notes) if note.startswith(_EXIT)), len(notes))
    blocked = [note.partition(". ")[0] for note in notes if _BLOCKED in note]
    silent = notes[at + 1 : at + 2] if not body else []
    last = body.splitlines()[-1:]
    return "; ".join(dict.fromkeys([*last, *(silent if not blocked else ()), *blocked]))


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
