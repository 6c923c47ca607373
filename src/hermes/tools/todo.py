"""`todo`: the plan of a session, kept in its facts and shown to the person."""

from typing import Literal

import msgspec
from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.messages import Effect
from hermes.core.policy import Capability
from hermes.core.ports import Bench, Tool, ToolResult, ToolSpec
from hermes.core.signals import CallProgress
from hermes.tools.arguments import Arguments

LIST = "todo"  # the fact under which a session remembers it
ITEMS_MAX = 50
CONTENT_CHARS_MAX = 500
SIGNS = {"pending": "☐", "in_progress": "◐", "completed": "☑", "cancelled": "☒"}

SPEC = ToolSpec(
    name="todo",
    description=(
        "Your plan for work of three steps or more, shown to the person. Give the whole list to "
        "replace it, nothing to read it. One item in progress at a time."
    ),
    parameters=(
        '{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object",'
        '"properties":{"id":{"type":"string"},"content":{"type":"string"},'
        '"status":{"enum":["pending","in_progress","completed","cancelled"]}},'
        '"required":["id","content","status"]}}}}'
    ),
)


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class TodoArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    todos: tuple[Item, ...] | None = None


def todo_rule(arguments: TodoArguments) -> str:
    items = arguments.todos or ()
    if len(items) > ITEMS_MAX:
        return f"todos: at most {ITEMS_MAX} items; put small steps together."
    if len({item.id for item in items}) < len(items):
        return "todos: two items have the same id."
    for item in items:
        if not item.content.strip():
            return f"todos: item {item.id} has no content."
        if len(item.content) > CONTENT_CHARS_MAX:
            return f"todos: item {item.id} is longer than {CONTENT_CHARS_MAX} characters."
    return ""


ARGUMENTS = Arguments(TodoArguments, todo_rule)
_items = msgspec.json.Decoder(tuple[Item, ...])


def todo_effect(arguments: TodoArguments) -> Effect:
    return Effect.READ if arguments.todos is None else Effect.IDEMPOTENT


def todo_tool() -> Tool:
    return Tool(
        spec=SPEC,
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(todo_effect),
        run=_run,
        capabilities=frozenset({Capability.PURE}),
    )


def shown(items: tuple[Item, ...]) -> str:
    """The list as a person likes to see it."""
    if not items:
        return "The list is empty."
    done = sum(item.status == "completed" for item in items)
    return "\n".join([f"{done} of {len(items)} done", *map(_row, items)])


def _row(item: Item) -> str:
    return f"{SIGNS[item.status]} {' '.join(item.content.split())}"


def remembered(facts: str) -> tuple[Item, ...]:
    """The list out of a session's fact."""
    try:
        return _items.decode(facts) if facts else ()
    except msgspec.MsgspecError as broken:
        raise ToolFailed("The stored list cannot be read; write a new one.") from broken


async def _run(bench: Bench) -> ToolResult:
    arguments = ARGUMENTS.parse(bench.call.arguments)
    if arguments.todos is None:
        items = remembered(bench.facts.get(LIST, ""))
        rows = "\n".join(f"{item.id}: {_row(item)}" for item in items)
        return ToolResult(text=rows or shown(()))
    text = shown(arguments.todos)
    bench.watch(CallProgress(bench.call.id, text))
    facts = {LIST: msgspec.json.encode(arguments.todos).decode()}
    return ToolResult(text=text, facts=facts)
