"""`delegate_task`: begin sessions of their own, whose last words are the result of the call.

Each child's first message has the name of its part of the call, so a call that is made again after
a crash joins the same children. The call is deferred: no process waits for it. Rights, tools, model
and budget are decided here, once, and travel with the message; they only shrink.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core.child_sessions import address_of_call, child_key, part_name
from hermes.core.errors import HermesError, Misconfigured, Rejected, ToolFailed
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import (
    NO_TOOLS,
    Call,
    Effect,
    Inbound,
    Person,
    ReportTo,
    TurnOptions,
)
from hermes.core.people import derived
from hermes.core.policy import Capability
from hermes.core.ports import Deferred, Tool, ToolContext, ToolResult, ToolSpec
from hermes.tools.delegation.arguments import (
    ARGUMENTS,
    AgentTask,
    DelegateArguments,
    is_batch,
    tasks_of,
)
from hermes.tools.delegation.reports import SUMMARY_CHARS, composed
from hermes.views.tool_specs import spec_of

NAME = "delegate_task"
ACCOUNT = "parent"  # of the messages that begin children
TITLE_CHARS = 80
# What a child never has, whatever it is given: it would act beyond its task, or ask a person.
NEVER = frozenset({"clarify", "cronjob", "send_message", "memory", "skill_manage"})
DESCRIPTION = (
    "Give work to subagents, each with a context of its own; several run at once. You get their "
    "reports. Use it for work that would fill your context, or that can be split. "
    "A subagent knows only what you write here."
)
BEGUN = (
    "Begun in the background: {names}. The report comes by itself as a message, also after a "
    "restart; do not wait or poll for it. /agents shows it, /agents stop ID ends it."
)
WISHES = "Write your report in the language of the task."


class DelegationRules(Struct, frozen=True, kw_only=True):
    """What the settings say, and how the composition root reads names."""

    model: str = ""
    depth: int = 2
    steps_max: int = 50
    tokens_max: int = 4_000_000  # of the turn that delegates; its children share the rest
    summary_chars: int = SUMMARY_CHARS
    toolsets: tuple[str, ...] = ("terminal", "file", "web")
    choose: Callable[[str], str] = lambda name: name  # a model's name; raises what is wrong with it
    models: Callable[[], Sequence[str]] = lambda: ()  # names to choose from
    toolset_of: Callable[[str], str] = lambda tool: tool
    known_toolsets: tuple[str, ...] = ()
    isolate: Callable[[ToolContext, int], Awaitable[str]] | None = None  # a copy to work in


def delegate_tool(rules: DelegationRules) -> Tool:
    return Tool(
        spec=spec_of(NAME, DESCRIPTION, DelegateArguments),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(lambda _arguments: Effect.IDEMPOTENT),
        run=partial(_run, rules),
        capabilities=frozenset({Capability.PURE}),
        children=children_of,
        compose=lambda parts: composed(parts, rules.summary_chars),
        parallel=True,
    )


def children_of(call: Call) -> tuple[SessionKey, ...]:
    """The sessions that end with the turn. What works in the background goes on."""
    try:
        arguments = ARGUMENTS.parse(call.arguments)
    except ToolFailed:
        return ()
    return () if arguments.background else tuple(child_key(call.id, n) for n in _parts(arguments))


def _parts(arguments: DelegateArguments) -> tuple[int, ...]:
    """A single task has the name of its call, those of a batch have numbers."""
    return tuple(range(1, len(tasks_of(arguments)) + 1)) if is_batch(arguments) else (0,)


async def _run(rules: DelegationRules, context: ToolContext) -> ToolResult:
    arguments = ARGUMENTS.parse(context.call.arguments)
    depth = context.principal.via.count("parent")
    if depth >= rules.depth:
        raise ToolFailed(
            f"Subagents may be nested {rules.depth} deep, and this one is at the end. Nothing was "
            "begun: do the work yourself, or report what is left to do."
        )
    tasks, parts = tasks_of(arguments), _parts(arguments)
    offered = await _offered(context)
    orchestrates = arguments.role == "orchestrator" and depth + 1 < rules.depth
    options = [_options(rules, context, task, len(tasks), offered, orchestrates) for task in tasks]
    if arguments.background:
        options = [replace(each, report_to=_report_to(context)) for each in options]
    messages: list[Inbound] = []
    for part, task, begins in zip(parts, tasks, options, strict=True):
        where = await _workdir(rules, context, part, isolated=bool(arguments.isolate))
        isolated = bool(arguments.isolate) and rules.isolate is not None
        begins_there = replace(begins, workdir=where, isolated=isolated)
        messages.append(_message(context, part, task, begins_there))
    for message in messages:
        await context.host.accept(message)
    if arguments.background:
        return ToolResult(text=BEGUN.format(names=", ".join(str(m.id) for m in messages)))
    waits_for = "a subagent" if len(tasks) == 1 else f"{len(tasks)} subagents"
    count = len(tasks) if is_batch(arguments) else 0
    return ToolResult(deferred=Deferred(waits_for=waits_for, parts=count))


def _message(context: ToolContext, part: int, task: AgentTask, options: TurnOptions) -> Inbound:
    """The task as the child's first message; the same however often it is made."""
    call, person = context.call.id, context.principal.person
    text = task.goal.strip()
    if task.context and task.context.strip():
        text += f"\n\nWhat you need to know:\n{task.context.strip()}"
    begun = Inbound(
        id=MessageId(part_name(call, part)),
        account=ACCOUNT,
        session=child_key(call, part),
        sender=person or Person(id="hermes"),
        address=address_of_call(context.session, call, part),
        text=text,
        at=context.host.clock(),
        origin="parent",
        instructions="\n".join(filter(None, (context.facts.get("instructions", ""), WISHES))),
        workdir=context.facts.get("came_from", ""),
        options=options,
    )
    try:
        return derived(begun, context.principal)
    except Rejected as refused:
        raise ToolFailed(f"Nothing was begun: {refused}.") from refused


def _options(
    rules: DelegationRules,
    context: ToolContext,
    task: AgentTask,
    count: int,
    offered: Sequence[str],
    orchestrates: bool,
) -> TurnOptions:
    left = max(rules.tokens_max - context.tokens, 1)
    return TurnOptions(
        model=_model(rules, context, task),
        tools=_tools(rules, task, offered, orchestrates),
        title=" ".join(task.goal.split())[:TITLE_CHARS],
        steps_max=rules.steps_max,
        tokens_max=max(left // count, 1),
        role="orchestrator" if orchestrates else "leaf",
    )


def _report_to(context: ToolContext) -> ReportTo:
    return ReportTo(
        address=context.address,
        conversation=context.conversation,
        principal=context.principal,
    )


def _model(rules: DelegationRules, context: ToolContext, task: AgentTask) -> str:
    """Of the task or the call, else of the settings, else of the turn that delegates."""
    wanted = task.model or rules.model
    if not wanted:
        return context.options.model or context.facts.get("model", "")
    try:
        return rules.choose(wanted)
    except (Misconfigured, Rejected) as unknown:
        raise ToolFailed(_unknown_model(rules, wanted, unknown)) from unknown


def _unknown_model(rules: DelegationRules, wanted: str, why: HermesError) -> str:
    known = ", ".join(rules.models())
    choice = f" Choose one of: {known}." if known else ""
    return f"model: “{wanted}” cannot be used ({why}).{choice} Nothing was begun."


async def _offered(context: ToolContext) -> Sequence[str]:
    """The names of the tools that the conversation was told of when it began."""
    text = await context.host.store.texts.text(context.facts.get("tools", ""))
    if text is None:
        return ()
    return [spec.name for spec in msgspec.json.decode(text, type=tuple[ToolSpec, ...])]


def _tools(
    rules: DelegationRules, task: AgentTask, offered: Sequence[str], orchestrates: bool
) -> tuple[str, ...]:
    """What the parent has, as far as it is handed on and a child may have it. Nothing in common
    means nothing, not everything."""
    named = rules.toolsets if task.toolsets is None else task.toolsets
    wanted = {_canonical(name) for name in named}
    known = {*rules.known_toolsets, *offered}
    if unknown := sorted(wanted - known if known else ()):
        raise ToolFailed(
            f"toolsets: {', '.join(unknown)} does not exist. Choose from: "
            f"{', '.join(sorted(rules.known_toolsets))}. Nothing was begun."
        )
    given = [tool for tool in offered if wanted & {tool, rules.toolset_of(tool)}]
    given = [tool for tool in given if tool not in NEVER and tool != NAME]
    more = (NAME,) if orchestrates and NAME in offered else ()
    return (*given, *more) or NO_TOOLS


def _canonical(name: str) -> str:
    return {"file": "files", "shell": "terminal"}.get(name.strip().lower(), name.strip().lower())


async def _workdir(
    rules: DelegationRules, context: ToolContext, part: int, *, isolated: bool
) -> str:
    """Where the parent is now; with `isolate`, in a copy of that."""
    if isolated and rules.isolate is not None:
        return await rules.isolate(context, part)
    return context.facts.get("workdir", "")
