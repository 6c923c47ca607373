"""`todo`: the plan of a conversation, kept in its facts and shown to the person."""

from typing import Literal

import msgspec
from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.messages import PROVENANCE, Effect
from hermes.core.policy import Capability
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.core.signals import CallProgress
from hermes.tools.arguments import Arguments
from hermes.views.tool_specs import spec_of

LIST = "todo"  # the fact under which a conversation remembers it
LABELS = "todo_labels"  # of all that its writer had read
ITEMS_MAX = 50
CONTENT_CHARS_MAX = 500
SIGNS = {"pending": "☐", "in_progress": "◐", "completed": "☑", "cancelled": "☒"}

DESCRIPTION = (
    "Your plan for work of three steps or more, shown to the person. Give the whole list to "
    "replace it, nothing to read it. One item in progress at a time."
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
        spec=spec_of("todo", DESCRIPTION, TodoArguments),
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


async def _run(context: ToolContext) -> ToolResult:
    arguments = ARGUMENTS.parse(context.call.arguments)
    if arguments.todos is None:
        items = remembered(context.facts.get(LIST, ""))
        rows = "\n".join(f"{item.id}: {_row(item)}" for item in items)
        labels = tuple(filter(None, context.facts.get(LABELS, "").split(",")))
        return ToolResult(text=rows or shown(()), labels=labels)
    text = shown(arguments.todos)
    context.watch(CallProgress(context.call.id, text))
    facts = {LIST: msgspec.json.encode(arguments.todos).decode()}
    read = ",".join(sorted(context.labels & PROVENANCE))
    if read or LABELS in context.facts:
        facts[LABELS] = read
    return ToolResult(text=text, facts=facts)
