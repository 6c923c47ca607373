"""What a model may say to `delegate_task`, and what is mended or refused of it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.tools.arguments import Arguments

TASKS_MAX = 16
GOAL_CHARS_MAX = 20_000
CONTEXT_CHARS_MAX = 60_000

AgentRole = Literal["leaf", "orchestrator"]


class AgentTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task of a batch."""

    goal: str = ""
    context: str | None = None
    model: str | None = None
    toolsets: tuple[str, ...] | None = None


class DelegateArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    goal: Annotated[
        str | None, Meta(description="what to find out or do; it sees nothing else")
    ] = None
    context: Annotated[str | None, Meta(description="facts, paths, wishes it needs")] = None
    tasks: Annotated[
        str | tuple[AgentTask, ...] | None, Meta(description="instead of goal: several at once")
    ] = None
    model: str | None = None
    toolsets: Annotated[tuple[str, ...] | None, Meta(description="such as terminal, file, web")] = (
        None
    )
    background: Annotated[
        bool | None, Meta(description="return at once; the report comes later")
    ] = None
    isolate: Annotated[
        bool | None, Meta(description="work in a copy of the folder; get a diff")
    ] = None
    role: Annotated[AgentRole | None, Meta(description="orchestrator: may delegate, too")] = None


def tasks_of(arguments: DelegateArguments) -> tuple[AgentTask, ...]:
    """Return the tasks with what was said for all of them. Raises a MsgspecError for a text that
    is no list of tasks."""
    given = arguments.tasks
    if isinstance(given, str):  # models like to write JSON into strings
        given = msgspec.json.decode(given or "[]", type=tuple[AgentTask, ...])
    tasks = given or (AgentTask(goal=arguments.goal or "", context=arguments.context),)
    shared = arguments.context if given else None
    return tuple(
        replace(
            task,
            context="\n\n".join(text for text in (shared, task.context) if text) or None,
            model=task.model or arguments.model,
            toolsets=task.toolsets if task.toolsets is not None else arguments.toolsets,
        )
        for task in tasks
    )


def is_batch(arguments: DelegateArguments) -> bool:
    return bool(arguments.tasks)


def delegate_rule(arguments: DelegateArguments) -> str:
    has_goal, batch = bool((arguments.goal or "").strip()), is_batch(arguments)
    if has_goal == batch:
        both = "not both" if has_goal else "one of them is needed"
        return f"Give either goal (one task) or tasks (several at once); {both}. Nothing was begun."
    try:
        tasks = tasks_of(arguments)
    except msgspec.MsgspecError as wrong:
        shape = "{goal, context?, model?, toolsets?}"
        return f"tasks: this cannot be read as a list of {shape} ({wrong}). Nothing was begun."
    if len(tasks) > TASKS_MAX:
        return (
            f"tasks: {len(tasks)} are too many, at most {TASKS_MAX} fit into one call. Split them."
        )
    if not all(task.goal.strip() for task in tasks):
        return "goal: it is empty. Say for each task what to find out or do. Nothing was begun."
    if any(len(task.goal) > GOAL_CHARS_MAX for task in tasks):
        return f"goal: longer than {GOAL_CHARS_MAX:,} characters. Put the material into a file."
    if any(len(task.context or "") > CONTEXT_CHARS_MAX for task in tasks):
        return f"context: longer than {CONTEXT_CHARS_MAX:,} characters. Put it into a file."
    return ""


ARGUMENTS = Arguments(DelegateArguments, delegate_rule)
