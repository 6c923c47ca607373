"""A model that knows every task, and writes its calls in one dialect.

It shows what Hermes itself costs: whatever an oracle cannot do here, no model can.
"""

import json
from collections.abc import Sequence

from hermes.testing.model import Asked, Body, Model, Says, text_of
from tests.tasks.catalogue import TASKS
from tests.tasks.dialects import DIALECTS
from tests.tasks.task import Move, Turn

RESULT = "Result of "
STYLES = ("native", "aliases", "small", *DIALECTS)
_OTHER_NAMES = {
    "terminal": ("bash", {"command": "cmd"}),
    "read_file": ("functions.read_file", {"path": "file_path"}),
    "write_file": ("create_file", {"path": "filename", "content": "file_text"}),
    "patch": ("str_replace", {"old_string": "old_str", "new_string": "new_str"}),
}


def oracle(style: str) -> Model:
    """Return a server that plays every task in this style."""
    return Model(lambda asked: _says(style, _move(asked)))


def profile_of(style: str) -> dict[str, str]:
    """Return the settings of the model that go with a style."""
    return {"profile": "small"} if style == "small" else {}


def _says(style: str, move: Move) -> Says:
    if isinstance(move, str):
        return Says(_object("answer", {"text": move}) if style == "small" else move, piece=9)
    if style == "native":
        return Says(calls=tuple((tool, dict(given)) for tool, given in move))
    if style == "aliases":
        return Says(calls=tuple(_renamed(tool, dict(given)) for tool, given in move))
    if style == "small":
        return Says("\n".join(_object(tool, dict(given)) for tool, given in move), piece=9)
    return Says(DIALECTS[style](move), piece=9)


def _object(name: str, arguments: Body) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _renamed(tool: str, given: Body) -> tuple[str, Body]:
    name, keys = _OTHER_NAMES.get(tool, (tool, {}))
    return name, {keys.get(key, key): value for key, value in given.items()}


def _move(asked: Asked) -> Move:
    """Return the next move: what the person said last, and what came of it so far."""
    messages = asked.messages
    found = [(at, turn) for at, each in enumerate(messages) if (turn := _turn(each))]
    if not found:
        return "I do not know this task."
    at, turn = found[-1]
    since = messages[at + 1 :]
    made = sum(each["role"] == "assistant" for each in since)
    play = turn.plays[min(made, len(turn.plays) - 1)]
    return play(_results(since)) if callable(play) else play


def _turn(message: Body) -> Turn | None:
    said = text_of(message) if message["role"] == "user" else ""
    if not said or said.startswith(RESULT):
        return None
    turns = (turn for task in TASKS.values() for turn in task.turns)
    return next((turn for turn in turns if turn.text in said), None)


def _results(messages: Sequence[Body]) -> list[str]:
    texts = [(each["role"], text_of(each)) for each in messages]
    said = [text.partition(": ")[2] for _, text in texts if text.startswith(RESULT)]
    return said or [text for role, text in texts if role == "tool"]
