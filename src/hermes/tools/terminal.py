"""`terminal`: a shell command, detached so that it outlives us, and found again after a crash."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.core.errors import RecordMissing, Rejected, ToolFailed
from hermes.core.messages import Effect, Outcome
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Presented, Tool, ToolContext, ToolResult
from hermes.core.rules import Allow, Ask
from hermes.core.signals import CallProgress
from hermes.lazy import LazyModule
from hermes.ports.terminal import (
    CommandLaunch,
    CommandRunning,
    Ended,
    Lost,
    Pending,
    Sighting,
)
from hermes.ports.workspace import Workspace, WorkspacePaths
from hermes.tools.arguments import Arguments
from hermes.tools.blocked import blocked_by, meaning_of
from hermes.tools.excerpt import excerpt_of
from hermes.tools.files.paths import (
    CAME_FROM,
    WORKDIR,
    here,
    is_folder,
    placed,
    resolved,
    with_scratch,
    workdir_of,
)
from hermes.tools.output import HEAD_BYTES, SCRIPT_BYTES, TAIL_BYTES, clean_tail
from hermes.tools.shell.paths import CommandPlace, absolute
from hermes.views.tool_specs import spec_of

if TYPE_CHECKING:
    from hermes.tools.shell import command as shell_command
else:
    shell_command = LazyModule("hermes.tools.shell.command")

COMMAND_BYTES_MAX = 60_000  # one argument of a program may have 128 kB, quoting may double it
TIMEOUT_S_MAX = 6 * 3600.0
BACKGROUND_MAX = 16  # running at once in a session
SETTLE_S = 0.3  # a background command that fails at once is reported at once
PROGRESS_S = 0.5
GATEWAY = re.compile(r"\bhermes\b[^|;&\n]*\bgateway\s+(restart|stop)\b")
PROGRESS_BYTES = 2_000
GONE = "outcome unknown: the record of this command was deleted while it ran"
BEHIND = "it keeps running in the background"

DESCRIPTION = (
    "Run a bash command; returns its output (stdout and stderr together) and exit status. "
    "`cd` lasts for later calls. It gets no input. For servers and long jobs use background, "
    "then `process`."
)


class TerminalArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    command: str
    timeout: float | None = None
    background: Annotated[bool | None, Meta(description="return at once with a process id")] = None
    workdir: Annotated[str | None, Meta(description="for this call only")] = None


def terminal_rule(arguments: TerminalArguments) -> str:
    command, timeout = arguments.command, arguments.timeout
    if not command.strip():
        return "command: it is empty."
    if "\x00" in command:
        return "command: it contains a NUL character, which no command can."
    if len(command.encode("utf-8", "replace")) > COMMAND_BYTES_MAX:
        return (
            f"command: longer than {COMMAND_BYTES_MAX:,} bytes. "
            "Write a script with write_file and run that."
        )
    if timeout is not None and not 0 < timeout <= TIMEOUT_S_MAX:
        return (
            f"timeout: give seconds between 0 and {TIMEOUT_S_MAX:.0f}; "
            "for longer work use background=true."
        )
    return ""


ARGUMENTS = Arguments(TerminalArguments, terminal_rule)


def terminal_effect(arguments: TerminalArguments) -> Effect:
    """A reader that is put into the background is still running when the call has ended."""
    return (
        Effect.EFFECT
        if arguments.background
        else shell_command.effect_of_command(arguments.command)
    )


def terminal_tool(workspace: Workspace, *, timeout_s: float, vouch: Callable[[str], None]) -> Tool:
    """`vouch` raises Rejected for a command that would run what nobody has approved."""
    places, shell = workspace.places, _Shell(workspace, timeout_s, vouch)
    return Tool(
        spec=spec_of(
            "terminal",
            DESCRIPTION,
            TerminalArguments,
            described={"timeout": f"seconds, default {round(timeout_s)}"},
        ),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(terminal_effect),
        run=shell.run,
        question="Run this command?",
        capabilities=frozenset({Capability.EXECUTE}),
        judge=lambda arguments, facts: judged(places, arguments, facts),
        present=lambda arguments, facts: replace(
            presented(places, arguments, facts), whole=workspace.terminal.is_whole()
        ),
        recover=shell.recover,
        stop=shell.stop,
    )


def judged(places: WorkspacePaths, arguments: str, facts: Mapping[str, str]) -> Finding:
    """What the policy should know of a command. A directory that is gone is left to the sandbox."""
    given = ARGUMENTS.parse(arguments)
    place = _place(places, given, facts)
    found = shell_command.finding(given.command, place, here(places, facts).root)
    if given.background:
        allowed = isinstance(found.verdict, Allow)
        found = Finding(verdict=Ask(BEHIND) if allowed else found.verdict)  # and no offer
    same = [given.command, place.cwd, bool(given.background)]
    return replace(found, identity=msgspec.json.encode(same).decode())


def presented(places: WorkspacePaths, arguments: str, facts: Mapping[str, str]) -> Presented:
    given = ARGUMENTS.parse(arguments)
    seen = shell_command.presented(given.command, _place(places, given, facts))
    note = "Background: it keeps running after the call"
    return replace(seen, notes=(*seen.notes, note)) if given.background else seen


def _place(
    places: WorkspacePaths, given: TerminalArguments, facts: Mapping[str, str]
) -> CommandPlace:
    start = facts.get(WORKDIR, "") or places.root
    return CommandPlace(
        root=places.root,
        cwd=absolute(given.workdir or start, start),
        home=places.home,
        guarded=places.guarded,
        scratch=with_scratch(places, facts).scratch,
    )


class _Shell:
    def __init__(
        self, workspace: Workspace, timeout_s: float, vouch: Callable[[str], None]
    ) -> None:
        self._vouch = vouch
        self._files = workspace.files
        self._terminal = workspace.terminal
        self._places = workspace.places
        self._timeout_s = timeout_s

    async def run(self, context: ToolContext) -> ToolResult:
        arguments = ARGUMENTS.parse(context.call.arguments)
        background = bool(arguments.background)
        if background:
            await self._demand_room(context)
        workdir, note = await asyncio.to_thread(self._vouched, context, arguments)
        launch = CommandLaunch(
            id=context.call.id,
            session=context.session,
            command=arguments.command,
            workdir=workdir,
            workspace=context.facts.get(CAME_FROM, ""),
            scratch=with_scratch(self._places, context.facts).scratch,
            timeout_s=None if background else arguments.timeout or self._timeout_s,
            background=background,
        )
        if context.by_folder and not context.approved:
            launch = await asyncio.to_thread(self._as_code, context, arguments, launch)
        elif not context.approved and not background:
            launch = await asyncio.to_thread(self._as_judged, context, arguments, launch)
        try:
            seen = await self._terminal.launch(launch)
            if isinstance(seen.state, Lost) and terminal_effect(arguments) is not Effect.EFFECT:
                await self._terminal.forget(launch.id)
                seen = await self._terminal.launch(launch)
            return await self._result(context, seen, note)
        except RecordMissing:  # it was begun; what became of it nobody can say
            return ToolResult(text=f"[{GONE}]", outcome=Outcome.UNKNOWN)

    def _as_code(
        self, context: ToolContext, arguments: TerminalArguments, launch: CommandLaunch
    ) -> CommandLaunch:
        """Nobody has looked at it: it runs in a whole box, or not at all."""
        if not self._terminal.is_whole():
            raise ToolFailed("The sandbox here does not hold any code. Nothing was run.")
        place = _place(self._places, arguments, context.facts)
        root = launch.workspace or self._places.root
        found = shell_command.prepared_code(arguments.command, place, root)
        return replace(launch, command=found.command, covered=found.covered)

    def _as_judged(
        self, context: ToolContext, arguments: TerminalArguments, launch: CommandLaunch
    ) -> CommandLaunch:
        """What was read runs, not what was written; in a box where a wrong reading does no harm."""
        place = _place(self._places, arguments, context.facts)
        root = launch.workspace or self._places.root
        found = shell_command.prepared(arguments.command, place, root)
        if found.judged and place.cwd != launch.workdir:
            found = shell_command.prepared(
                arguments.command, replace(place, cwd=launch.workdir), root
            )
            if not found.judged:
                raise ToolFailed(f"{place.cwd} is gone. Nothing was run. Make the call again.")
        return replace(
            launch,
            command=found.command,
            profile=found.profile,
            covered=found.covered,
            readable=found.readable,
        )

    async def recover(self, context: ToolContext) -> ToolResult | None:
        """The outcome of a call whose process is gone. One that never began begins now: its gate
        is still open, so this is its first run. Nothing known, or lost: nobody can say."""
        seen = await self._terminal.look(context.call.id)
        if seen is not None and isinstance(seen.state, Pending):
            await asyncio.to_thread(self._vouch_for, seen.launch.command)
            seen = await self._terminal.launch(seen.launch)
        if seen is None:
            return None
        try:
            result = await self._result(context, seen, "")
        except RecordMissing:
            return None
        return None if result.outcome is Outcome.UNKNOWN else result

    async def stop(self, context: ToolContext) -> None:
        await self._terminal.stop(context.call.id, "stopped")

    def _vouched(self, context: ToolContext, arguments: TerminalArguments) -> tuple[str, str]:
        """Where it may run, and what is to be said about that."""
        found = self._workdir(context, arguments)
        self._vouch_for(arguments.command)
        return found

    def _vouch_for(self, command: str) -> None:
        try:
            self._vouch(command)
        except Rejected as refused:
            raise ToolFailed(f"{refused}. Nothing was run.") from refused

    def _workdir(self, context: ToolContext, arguments: TerminalArguments) -> tuple[str, str]:
        places = with_scratch(self._places, context.facts)
        if not arguments.workdir:
            return workdir_of(self._files, places, context.facts)
        asked = resolved(self._files, places, context.facts, arguments.workdir)
        if not is_folder(self._files, placed(places, asked)):
            raise ToolFailed(f"workdir: {asked} is not a directory. Nothing was run.")
        return asked, ""

    async def _demand_room(self, context: ToolContext) -> None:
        listed = await self._terminal.listed(context.session)
        running = [seen for seen in listed if isinstance(seen.state, CommandRunning)]
        known = any(seen.launch.id == context.call.id for seen in listed)
        if len(running) >= BACKGROUND_MAX and not known:
            raise ToolFailed(
                f"{len(running)} background commands are running, the limit. "
                "End one with process kill. Nothing was run."
            )

    async def _result(self, context: ToolContext, seen: Sighting, note: str) -> ToolResult:
        if seen.launch.background:
            seen = await self._terminal.wait(context.call.id, SETTLE_S)
        else:
            seen = await self._followed(context, seen)
        half = SCRIPT_BYTES // 2
        shares = (half, half) if context.options.scripted else (HEAD_BYTES, TAIL_BYTES)
        text = await excerpt_of(self._terminal, seen, *shares)
        facts = self._facts(context, seen)
        notes = [note, *verdict_on(seen), *self._why(context, seen, text), *out_of_reach(seen)]
        if facts:
            notes.append(f"now in {facts[WORKDIR]}")
        if seen.launch.background and isinstance(seen.state, CommandRunning):
            notes.insert(0, f"running in the background as process {seen.launch.id}")
        said = "; ".join(part for part in notes if part)
        return ToolResult(text=f"{text}[{said}]", outcome=outcome_of(seen), facts=facts)

    def _why(self, context: ToolContext, seen: Sighting, output: str) -> list[str]:
        """Why it failed, as far as its output or the sandbox tells."""
        match seen.state:
            case Ended(code=int(code), cut="") if code:
                command = ARGUMENTS.parse(context.call.arguments).command
                box = "read" if seen.launch.profile == "read" else self._terminal.usual
                blocked = blocked_by(box, command, code, output)
                return [meaning_of(command, code, output), blocked]
            case _:
                return []

    async def _followed(self, context: ToolContext, seen: Sighting) -> Sighting:
        """Until it ends, showing what it writes to those who watch."""
        shown = 0
        while True:
            seen = await self._terminal.wait(context.call.id, PROGRESS_S)
            if not isinstance(seen.state, Pending | CommandRunning):
                return seen
            if seen.size > shown:
                start = max(shown, seen.size - PROGRESS_BYTES)
                raw = await self._terminal.read(context.call.id, start, seen.size - start)
                text = clean_tail(raw)
                context.watch(CallProgress(context.call.id, text))
                shown = seen.size

    def _facts(self, context: ToolContext, seen: Sighting) -> dict[str, str]:
        """Where the session is now, if the command moved it. `workdir` is for one call only."""
        arguments = ARGUMENTS.parse(context.call.arguments)
        if arguments.workdir or seen.launch.background or not seen.workdir:
            return {}
        before = context.facts.get(WORKDIR, self._places.root)
        moved = seen.workdir != before and seen.workdir.startswith("/")
        return {WORKDIR: seen.workdir} if moved else {}


def outcome_of(seen: Sighting) -> Outcome:
    match seen.state:
        case Pending() | CommandRunning():
            return Outcome.OK
        case Ended(code=0, cut=""):
            return Outcome.OK
        case Ended(cut="stopped"):
            return Outcome.STOPPED
        case Ended():
            return Outcome.FAILED
        case Lost():
            return Outcome.UNKNOWN


def out_of_reach(seen: Sighting) -> list[str]:
    """From inside its box a command cannot signal the gateway: who can is told."""
    failed = isinstance(seen.state, Ended) and seen.state.code not in (0, None)
    if not failed or GATEWAY.search(seen.launch.command) is None:
        return []
    return ["the sandbox keeps commands from the gateway: ask the person to send /restart"]


def verdict_on(seen: Sighting) -> list[str]:
    """How it stands with a command, in a few words each."""
    words: list[str] = []
    match seen.state:
        case Lost():
            words.append("outcome unknown: it began, is no longer alive and left no exit status")
        case Ended(cut="unstarted"):
            words.append("it could not be started; nothing was run")
        case Ended(code=None, cut="stopped") if not seen.took_s:
            words.append("stopped before it began; nothing was run")
        case Ended(code=code, cut=cut):
            if cut == "timeout":
                words.append(f"timed out after {seen.took_s:.0f} s and was ended")
            elif cut == "stopped":
                words.append("stopped")
            words.append("killed" if code is None else f"exit status {code}")
        case Pending():
            words.append("not started yet")
        case CommandRunning():
            words.append(f"running for {seen.took_s:.0f} s")
    if seen.full:
        words.append("its output reached the limit and was cut off there")
    return words
