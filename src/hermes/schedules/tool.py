"""`cronjob`: how the agent makes, shows and changes jobs for the person it talks to."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from hermes.core.errors import Rejected, ToolFailed
from hermes.core.jobs import Missed, Overlap, job_of
from hermes.core.messages import PROVENANCE, Effect
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.core.principal import Role
from hermes.core.schedule import local_time
from hermes.views.jobs import JobActs, JobAuthor, JobRequest, JobView
from hermes.views.tool_specs import spec_of

DESCRIPTION = (
    "Run a task later or repeatedly, each time in a new conversation, and send the answer. Read "
    "the words and next times that come back to the person. The answer [SILENT] sends nothing."
)
LISTED_MAX = 50
_Action = Literal["create", "list", "update", "pause", "resume", "remove", "run"]
_READS = frozenset({Capability.READ_OWN})
_WRITES = frozenset({Capability.WRITE_SELF})


class CronArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: _Action
    job_id: Annotated[str, Meta(description="id or name")] = ""
    prompt: Annotated[str | None, Meta(description="the task, whole by itself")] = None
    schedule: Annotated[
        str | None,
        Meta(description="every 2h | 0 7 * * 1-5 | in 30m | at 2026-12-01T09:00 | plain words"),
    ] = None
    name: str | None = None
    repeat: int | None = None
    deliver: Annotated[
        tuple[str, ...] | str | None,
        Meta(description="origin | home | local | none | all | platform:chat, list"),
    ] = None
    skills: tuple[str, ...] | None = None
    model: str | None = None
    script: Annotated[str | None, Meta(description="file in scripts/, runs first")] = None
    no_agent: Annotated[bool | None, Meta(description="script only")] = None
    context_from: tuple[str, ...] | None = None
    enabled_toolsets: tuple[str, ...] | None = None
    workdir: str | None = None
    attach_to_session: bool | None = None
    tz: str | None = None
    missed: Missed | None = None
    overlap: Overlap | None = None


_arguments = msgspec.json.Decoder(CronArguments)


def cronjob_tool(acts: JobActs) -> Tool:
    async def run(context: ToolContext) -> ToolResult:
        try:
            return ToolResult(text=await _done(acts, context))
        except Rejected as refused:
            raise ToolFailed(f"{refused}.") from refused

    return Tool(
        spec=spec_of("cronjob", DESCRIPTION, CronArguments),
        check=_check,
        effect=_effect,
        run=run,
        capabilities=_WRITES,
        ways=(_WRITES, _READS),
        judge=lambda arguments, _facts: _judged(arguments),
        question="Change what runs by itself?",
    )


def _check(arguments: str) -> str:
    try:
        given = _arguments.decode(arguments)
    except msgspec.MsgspecError as wrong:
        return f"cronjob: {wrong}."
    if given.action == "create" and not given.schedule:
        return "schedule: say when, for example “every weekday at 07:00”."
    if given.action not in ("create", "list") and not given.job_id:
        return "job_id: say which job; action=list shows them."
    return ""


def _effect(arguments: str) -> Effect:
    """The same call makes the same job: a crash in between repeats nothing."""
    reads = _arguments.decode(arguments).action == "list"
    return Effect.READ if reads else Effect.IDEMPOTENT


def _judged(arguments: str) -> Finding:
    reads = _arguments.decode(arguments).action == "list"
    return Finding(capabilities=_READS if reads else _WRITES)


async def _done(acts: JobActs, context: ToolContext) -> str:
    given, host = _arguments.decode(context.call.arguments), context.host
    author = JobAuthor(
        by=_who(context),
        principal=context.principal,
        origin=context.address if context.address.platform else None,
        labels=tuple(sorted(PROVENANCE & context.labels)),
        role=context.scope.subject.role if context.scope is not None else Role.STRANGER,
        token=context.call.id,
        automatic=job_of(context.session) or _job_behind(context),
    )
    match given.action:
        case "list":
            views = [view for view in await acts.listed(host) if view.kind == "job"]
            views = [view for view in views if author.may_touch(view.creator)]
            lines = [_line(view) for view in views[:LISTED_MAX]]
            return "\n".join(lines) or "There are no jobs."
        case "create":
            return "Made. " + _read_back(await acts.create(host, _request(given), author))
        case "update":
            view = await acts.edit(host, given.job_id, _request(given), author)
            return "Changed. " + _read_back(view)
        case "pause":
            return _line(await acts.pause(host, given.job_id, author))
        case "resume":
            return _line(await acts.resume(host, given.job_id, author))
        case "remove":
            return _line(await acts.remove(host, given.job_id, author))
        case "run":
            await acts.run(host, given.job_id, author)
            return "It runs now, in a conversation of its own."


def _request(given: CronArguments) -> JobRequest:
    return JobRequest(
        schedule=given.schedule,
        prompt=given.prompt,
        name=given.name,
        deliver=(given.deliver,) if isinstance(given.deliver, str) else given.deliver,
        tz=given.tz,
        model=given.model,
        skills=given.skills,
        toolsets=given.enabled_toolsets,
        workdir=given.workdir,
        script=given.script,
        no_agent=given.no_agent,
        context_from=given.context_from,
        attach=given.attach_to_session,
        repeat=given.repeat,
        missed=given.missed,
        overlap=given.overlap,
    )


def _who(context: ToolContext) -> str:
    person, spoke = context.principal.person, context.principal.spoke
    return f"{spoke.platform}:{person.id}" if person is not None and spoke is not None else "owner"


def _job_behind(context: ToolContext) -> str:
    """A subagent of a job's run may do no more than the run."""
    return "another job" if "schedule" in context.principal.via else ""


def _read_back(view: JobView) -> str:
    times = [f"{local_time(at, view.zone):%a %Y-%m-%d %H:%M}" for at in view.next]
    then = f" Next: {', '.join(times)} ({view.zone})." if times else ""
    return f"{view.id} “{view.name}”: {view.words}.{then} The answer goes to: {_where(view)}."


def _line(view: JobView) -> str:
    then = f", next {local_time(view.next[0], view.zone):%a %Y-%m-%d %H:%M}" if view.next else ""
    why = f" ({view.why})" if view.why else ""
    return f"{view.id} “{view.name}”: {view.words}{then}, {view.state}{why}, to {_where(view)}"


def _where(view: JobView) -> str:
    return ", ".join(view.deliver)
