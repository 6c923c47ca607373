"""`run_script`: run the script of a job, in the box, detached. No model is told of this tool.

What runs is the copy that was kept when the job was made, so the bytes are those that somebody
looked at then. The output is the result as it is: a job without a model sends it.
"""

import asyncio
import shlex
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from hermes.core.errors import Rejected, ToolFailed
from hermes.core.jobs import Job, job_of
from hermes.core.messages import Effect, Outcome
from hermes.core.policy import Capability
from hermes.core.ports import Tool, ToolContext, ToolResult, ToolScope
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Lost, Pending, Sighting
from hermes.ports.workspace import Workspace
from hermes.tools.excerpt import excerpt_of
from hermes.tools.terminal import outcome_of, verdict_on
from hermes.views.tool_specs import spec_of

NAME = "run_script"
WAIT_S = 3600.0
INTERPRETERS = {".py": "python3", ".sh": "bash", ".js": "node", ".rb": "ruby", ".pl": "perl"}


class ScriptArguments(Struct, frozen=True, kw_only=True):
    script: str


class JobScripts:
    """See `Toolset`: a tool that is found when a job calls it, and is in no list."""

    def __init__(
        self, workspace: Workspace, pinned: Callable[[Job], str], *, timeout_s: float
    ) -> None:
        """`pinned` returns the path of the job's own copy. It raises Rejected when that is not
        what was looked at."""
        self._workspace = workspace
        self._pinned = pinned
        self._timeout_s = timeout_s
        self._tool = Tool(
            spec=spec_of(NAME, "Run the job's script.", ScriptArguments),
            check=_check,
            effect=lambda _arguments: Effect.EFFECT,
            run=self._run,
            capabilities=frozenset({Capability.EXECUTE}),
            recover=self._recover,
            stop=self._stop,
            question="Run this job's script?",
        )

    async def tools_for(self, _scope: ToolScope) -> Sequence[Tool]:
        return ()

    def find(self, name: str) -> Tool | None:
        return self._tool if name == NAME else None

    def withheld(self, _name: str, scope: ToolScope) -> str:
        return "" if job_of(scope.session) else "Only a job runs its script. Nothing was run."

    async def _run(self, context: ToolContext) -> ToolResult:
        job = await self._job(context)
        try:
            path = await asyncio.to_thread(self._pinned, job)
        except Rejected as changed:
            raise ToolFailed(f"{changed}. Nothing was run.") from changed
        program = INTERPRETERS.get(PurePosixPath(path).suffix, "bash")
        launch = CommandLaunch(
            id=context.call.id,
            session=context.session,
            command=f"exec {program} {shlex.quote(path)}",
            workdir=job.workdir or self._workspace.places.root,
            workspace=job.workdir,
            timeout_s=job.timeout_s or self._timeout_s,
            readable=(path,),
        )
        return await self._result(await self._workspace.terminal.launch(launch))

    async def _recover(self, context: ToolContext) -> ToolResult | None:
        """One that never began begins now; one that runs is waited for."""
        terminal = self._workspace.terminal
        seen = await terminal.look(context.call.id)
        if seen is not None and isinstance(seen.state, Pending):
            seen = await terminal.launch(seen.launch)
        if seen is None:
            return None
        result = await self._result(seen)
        return None if result.outcome is Outcome.UNKNOWN else result

    async def _stop(self, context: ToolContext) -> None:
        await self._workspace.terminal.stop(context.call.id, "stopped")

    async def _result(self, seen: Sighting) -> ToolResult:
        while isinstance(seen.state, Pending | CommandRunning):
            seen = await self._workspace.terminal.wait(seen.launch.id, WAIT_S)
        text = await excerpt_of(self._workspace.terminal, seen)
        outcome = outcome_of(seen)
        if outcome is Outcome.OK:
            return ToolResult(text=text.rstrip("\n"))
        said = "; ".join(verdict_on(seen))
        known = not isinstance(seen.state, Lost) and isinstance(seen.state, Ended)
        name = "its script failed" if known else "the outcome of its script is unknown"
        return ToolResult(text=f"{name} ({said}): {text}".strip(), outcome=outcome)

    async def _job(self, context: ToolContext) -> Job:
        row = await context.host.store.jobs.job(job_of(context.session))
        if row is None or not row.job.script:
            raise ToolFailed("this job has no script any more. Nothing was run.")
        return row.job


def _check(arguments: str) -> str:
    try:
        msgspec.json.decode(arguments, type=ScriptArguments)
    except msgspec.MsgspecError as wrong:
        return f"{NAME}: {wrong}."
    return ""
