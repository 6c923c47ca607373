"""`execute_code`: begin a script, and a session whose model is that script.

The call ends when that session does. The script itself runs detached in its box, as a command of
the terminal under the call's id, so it outlives us.
"""

import ast
import asyncio
import hashlib
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.core.child_sessions import address_of_call, child_key
from hermes.core.errors import Rejected, ToolFailed
from hermes.core.grants import CODE, Template
from hermes.core.ids import MessageId
from hermes.core.messages import NO_TOOLS, SCRIPT, Effect, Inbound, Person, TurnOptions
from hermes.core.people import derived
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Deferred, Presented, Tool, ToolContext, ToolResult, Toolset
from hermes.core.rules import Ask
from hermes.core.session import SCRATCH
from hermes.ports.sandbox import python_parts
from hermes.ports.scripts import ScriptFolders
from hermes.ports.terminal import CommandLaunch
from hermes.ports.workspace import Workspace, WorkspacePaths
from hermes.text.plurals import counted
from hermes.text.visible_text import both_ends
from hermes.tools.arguments import Arguments
from hermes.tools.code.library import functions_for
from hermes.tools.code.script import CodeLimits
from hermes.tools.files.paths import CAME_FROM, WORKDIR, here, with_scratch, workdir_of
from hermes.tools.shell.private_files import private_files
from hermes.views.tool_specs import spec_of

CODE_BYTES_MAX = 100_000
TIMEOUT_S_MAX = 6 * 3600.0
CODE_CHARS_KEPT = 10_000  # of each end, in the session of the script; its file has all
PARKED_S_MAX = 7 * 86_400.0  # that a script may wait in all, for calls and for people
HEAD_CHARS, TAIL_CHARS = 1_500, 500
# What a script cannot do: begin other work, ask, or change the agent itself (memory writes and the
# like are refused to whatever works for a turn).
NOT_INSIDE = frozenset(
    {"execute_code", "delegate_task", "clarify", "cronjob", "memory", "skill_manage", "process"}
)
NO_PYTHON = (
    "There is no Python where commands run. Nothing was run. Install python3 there, or set "
    "code.python to one."
)
NOT_WHOLE = "The sandbox here does not hold any code. Nothing was run."
NO_PIPES = "Scripts do not work with terminal.backend {0} yet. Nothing was run. Use the tools."

DESCRIPTION = (
    "Run a Python script that calls tools: for loops, filters and many calls at once. Only what it "
    "prints comes back, so print little. `from hermes_tools import read_file, terminal`: each tool "
    "of yours is a function with the same arguments and returns text; call('name', **arguments) "
    "works for all. parallel([('read_file', {'path': p}), ...]), json_parse, shell_quote, retry "
    "help. A failed call raises ToolError. It is sandboxed like `terminal`."
)


class CodeArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: str
    timeout: Annotated[float | None, Meta(description="seconds of its own time")] = None


def code_rule(arguments: CodeArguments) -> str:
    code, timeout = arguments.code, arguments.timeout
    if not code.strip():
        return "code: it is empty."
    if "\x00" in code:
        return "code: it contains a NUL character. Nothing was run."
    if len(code.encode("utf-8", "replace")) > CODE_BYTES_MAX:
        return f"code: longer than {CODE_BYTES_MAX:,} bytes. Split the work."
    if _is_deceptive(code):
        return "code: it has invisible or deceptive characters. Write it without them."
    if timeout is not None and not 0 < timeout <= TIMEOUT_S_MAX:
        return f"timeout: give seconds between 0 and {TIMEOUT_S_MAX:.0f}."
    return _syntax_error(code)


def _is_deceptive(code: str) -> bool:
    """Return True for characters that make code look like something else (Trojan Source)."""
    return any(
        char in "\u061c\ufeff\u00ad\u180e"
        or "\u200b" <= char <= "\u200f"
        or "\u202a" <= char <= "\u202e"
        or "\u2060" <= char <= "\u206f"
        or "\U000e0000" <= char <= "\U000e007f"
        for char in code
    )


def _syntax_error(code: str) -> str:
    try:
        ast.parse(code)
    except SyntaxError as wrong:
        return f"code: line {wrong.lineno}: {wrong.msg}. Nothing was run."
    except (ValueError, RecursionError, MemoryError) as wrong:
        return f"code: it cannot be read as Python ({type(wrong).__name__}). Nothing was run."
    return ""


ARGUMENTS = Arguments(CodeArguments, code_rule)
Begin = Callable[[ToolContext], Awaitable[tuple[str, ...]]]


class CodePlace(Struct, frozen=True, kw_only=True):
    """Where scripts run, and what they are given."""

    workspace: Workspace
    tools: Callable[[], Toolset]  # all of the agent's
    scripts: ScriptFolders
    limits: CodeLimits
    begin: Begin  # note what a program may read and write; returns its labels
    python: str = ""


def execute_code_tool(place: CodePlace) -> Tool:
    starter = _Starter(place)
    places = place.workspace.places
    seconds = round(place.limits.timeout_s)
    return Tool(
        spec=spec_of(
            "execute_code",
            DESCRIPTION,
            CodeArguments,
            described={"timeout": f"seconds of its own time, default {seconds}"},
        ),
        check=ARGUMENTS.check,
        effect=lambda _arguments: Effect.IDEMPOTENT,  # by the call's id: it begins once
        run=starter.run,
        question="Run this script?",
        capabilities=frozenset({Capability.EXECUTE}),
        judge=lambda arguments, facts: _judged(places, arguments, facts),
        present=lambda arguments, _facts: replace(
            _presented(arguments), whole=place.workspace.terminal.is_whole()
        ),
        stop=starter.stop,
        children=lambda call: (child_key(call.id),),
    )


def _judged(places: WorkspacePaths, arguments: str, facts: Mapping[str, str]) -> Finding:
    given = ARGUMENTS.parse(arguments)
    root = here(places, facts).root
    code = Template(tool="execute_code", program=CODE, workdir=root)
    digest = hashlib.sha256(given.code.encode("utf-8", "replace")).hexdigest()
    return Finding(
        verdict=Ask("it runs a program that I wrote"),
        code=code,
        identity=f"{root} {digest}",
    )


def _presented(arguments: str) -> Presented:
    code = ARGUMENTS.parse(arguments).code
    lines = counted(len(code.splitlines()), "line")
    note = f"Python, {lines}. Each tool call inside it is checked separately"
    return Presented(text=both_ends(code, HEAD_CHARS, TAIL_CHARS), notes=(note,))


class _Starter:
    def __init__(self, place: CodePlace) -> None:
        self._place = place

    async def run(self, context: ToolContext) -> ToolResult:
        """Begin the script, then its session; each of them once, however often this is run."""
        given, manifest = ARGUMENTS.parse(context.call.arguments), self._place.workspace.manifest
        if not manifest.pipes:
            raise ToolFailed(NO_PIPES.format(manifest.name))
        tools = await self._tools(context)
        labels = await self._place.begin(context)
        launch = await asyncio.to_thread(self._launch, context, given, tools)
        await self._place.workspace.terminal.launch(launch)
        try:
            await context.host.accept(self._message(context, given, tools, labels))
        except Rejected as refused:
            await self.stop(context)
            raise ToolFailed(f"{refused}. Nothing was run.") from refused
        return ToolResult(deferred=Deferred(waits_for="a script"))

    async def stop(self, context: ToolContext) -> None:
        await self._place.workspace.terminal.stop(context.call.id, "stopped")

    async def _tools(self, context: ToolContext) -> Sequence[Tool]:
        """Return what this turn has, without what no script may use. None of it means none."""
        if context.scope is None:
            return ()
        found = await self._place.tools().tools_for(context.scope)
        return [tool for tool in found if tool.spec.name not in NOT_INSIDE]

    def _launch(
        self, context: ToolContext, given: CodeArguments, tools: Sequence[Tool]
    ) -> CommandLaunch:
        workspace = self._place.workspace
        functions = functions_for(tool.spec for tool in tools)
        files = self._place.scripts.prepare(
            context.call.id, given.code, functions, given.timeout or 0.0
        )
        workdir, _note = workdir_of(workspace.files, workspace.places, context.facts)
        python, readable = self._python(context)
        return CommandLaunch(
            id=context.call.id,
            session=context.session,
            command=f"exec {shlex.join([python, *files.arguments])}",
            workdir=workdir,
            workspace=context.facts.get(CAME_FROM, ""),
            scratch=with_scratch(workspace.places, context.facts).scratch,
            timeout_s=PARKED_S_MAX,
            readable=(*files.readable, *readable),
            covered=self._covered(context),
            pipes=files.pipes,
        )

    def _covered(self, context: ToolContext) -> tuple[str, ...]:
        """Return the private files that the script does not see, where nobody has looked at it: it
        runs in a whole box then, or not at all."""
        if not context.by_folder or context.approved:
            return ()
        if not self._place.workspace.terminal.is_whole():
            raise ToolFailed(NOT_WHOLE)
        return private_files(here(self._place.workspace.places, context.facts).root)

    def _python(self, context: ToolContext) -> tuple[str, tuple[str, ...]]:
        """Return the interpreter and what else must be seen to run it."""
        if chosen := self._place.python:
            return chosen, python_parts(str(PurePosixPath(chosen).parent.parent))
        workspace = self._place.workspace
        root = here(workspace.places, context.facts).root
        for name in (".venv", "venv"):
            own = f"{root}/{name}/bin/python"
            if workspace.files.status(own, follow=True) is not None:
                return own, ()
        found = workspace.terminal.which("python3")
        if not found:
            raise ToolFailed(NO_PYTHON)
        return found, ()

    def _message(
        self,
        context: ToolContext,
        given: CodeArguments,
        tools: Sequence[Tool],
        labels: tuple[str, ...],
    ) -> Inbound:
        """Return what begins the script's session: the same however often it is made."""
        names = tuple(tool.spec.name for tool in tools)
        message = Inbound(
            id=MessageId(context.call.id),
            account="script",
            session=child_key(context.call.id),
            sender=Person(id="hermes"),
            address=address_of_call(context.session, context.call.id),
            text=both_ends(given.code, CODE_CHARS_KEPT, CODE_CHARS_KEPT),
            at=context.host.clock(),
            origin="parent",
            labels=labels,
            workdir=context.facts.get(CAME_FROM, ""),
            options=TurnOptions(
                model=f"{SCRIPT}{context.call.id}",
                tools=names or NO_TOOLS,
                title="script",
                workdir=context.facts.get(WORKDIR, ""),
                scratch=context.facts.get(SCRATCH, ""),
                scripted=True,
            ),
        )
        return derived(message, context.principal)
