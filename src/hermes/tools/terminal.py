"""`terminal`: a shell command, detached so that it outlives us, and found again after a crash."""

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected, ToolFailed
from hermes.core.messages import Effect, Outcome
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Bench, Presented, Tool, ToolResult, ToolSpec
from hermes.core.rules import Allow, Ask
from hermes.core.signals import CallProgress
from hermes.tools.arguments import Arguments
from hermes.tools.excerpt import excerpt_of
from hermes.tools.first_use import effect_of_command, finding
from hermes.tools.first_use import presented as presented_there
from hermes.tools.output import clean_tail
from hermes.tools.paths import CAME_FROM, WORKDIR, Places, resolved, workdir_of
from hermes.tools.shell_paths import Place, absolute
from hermes.views.terminal import Ended, Launch, Lost, Pending, Running, Sighting, Terminal

COMMAND_BYTES_MAX = 60_000  # one argument of a program may have 128 kB, quoting may double it
TIMEOUT_S_MAX = 6 * 3600.0
BACKGROUND_MAX = 16  # running at once in a session
SETTLE_S = 0.3  # a background command that fails at once is reported at once
PROGRESS_S = 0.5
GATEWAY = re.compile(r"\bhermes\b[^|;&\n]*\bgateway\s+(restart|stop)\b")
PROGRESS_BYTES = 2_000
BEHIND = "it goes on in the background"

DESCRIPTION = (
    "Run a bash command; returns its output (stdout and stderr together) and exit status. "
    "`cd` lasts for later calls. It gets no input. For servers and long jobs use background, "
    "then `process`."
)
PARAMETERS = (
    '{"type":"object","properties":{'
    '"command":{"type":"string"},'
    '"timeout":{"type":"number","description":"seconds, default %d"},'
    '"background":{"type":"boolean","description":"return at once with a process id"},'
    '"workdir":{"type":"string","description":"for this call only"}'
    '},"required":["command"]}'
)


class TerminalArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    command: str
    timeout: float | None = None
    background: bool | None = None
    workdir: str | None = None


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
    return Effect.EFFECT if arguments.background else effect_of_command(arguments.command)


def terminal_tool(
    terminal: Terminal, places: Places, *, timeout_s: float, vouch: Callable[[str], None]
) -> Tool:
    """`vouch` raises Rejected for a command that would run what nobody has approved."""
    shell = _Shell(terminal, places, timeout_s, vouch)
    return Tool(
        spec=ToolSpec(
            name="terminal", description=DESCRIPTION, parameters=PARAMETERS % round(timeout_s)
        ),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(terminal_effect),
        run=shell.run,
        capabilities=frozenset({Capability.EXECUTE}),
        judge=lambda arguments, facts: judged(places, arguments, facts),
        present=lambda arguments, facts: presented(places, arguments, facts),
        seek=shell.seek,
        stop=shell.stop,
    )


def judged(places: Places, arguments: str, facts: Mapping[str, str]) -> Finding:
    """What the policy should know of a command. A directory that is gone is left to the sandbox."""
    given = ARGUMENTS.parse(arguments)
    found = finding(given.command, _place(places, given, facts))
    if given.background and isinstance(found.verdict, Allow):
        return Finding(verdict=Ask("it would go on in the background"))
    return found


def presented(places: Places, arguments: str, facts: Mapping[str, str]) -> Presented:
    given = ARGUMENTS.parse(arguments)
    seen = presented_there(given.command, _place(places, given, facts))
    return replace(seen, notes=(*seen.notes, BEHIND)) if given.background else seen


def _place(places: Places, given: TerminalArguments, facts: Mapping[str, str]) -> Place:
    here = facts.get(WORKDIR, "") or places.root
    cwd = absolute(given.workdir or here, here)
    return Place(root=places.root, cwd=cwd, home=places.home, guarded=places.guarded)


class _Shell:
    def __init__(
        self, terminal: Terminal, places: Places, timeout_s: float, vouch: Callable[[str], None]
    ) -> None:
        self._vouch = vouch
        self._terminal = terminal
        self._places = places
        self._timeout_s = timeout_s

    async def run(self, bench: Bench) -> ToolResult:
        arguments = ARGUMENTS.parse(bench.call.arguments)
        background = bool(arguments.background)
        if background:
            await self._demand_room(bench)
        workdir, note = await asyncio.to_thread(self._vouched, bench, arguments)
        launch = Launch(
            id=bench.call.id,
            session=bench.session,
            command=arguments.command,
            workdir=workdir,
            workspace=bench.facts.get(CAME_FROM, ""),
            timeout_s=None if background else arguments.timeout or self._timeout_s,
            background=background,
        )
        seen = await self._terminal.launch(launch)
        if isinstance(seen.state, Lost) and terminal_effect(arguments) is not Effect.EFFECT:
            await self._terminal.forget(launch.id)
            seen = await self._terminal.launch(launch)
        return await self._result(bench, seen, note)

    async def seek(self, bench: Bench) -> ToolResult | None:
        """The outcome of a call whose process is gone. One that never began begins now: its gate
        is still open, so this is its first run. Nothing known, or lost: nobody can say."""
        seen = await self._terminal.look(bench.call.id)
        if seen is not None and isinstance(seen.state, Pending):
            await asyncio.to_thread(self._vouch_for, seen.launch.command)
            seen = await self._terminal.launch(seen.launch)
        if seen is None:
            return None
        result = await self._result(bench, seen, "")
        return None if result.outcome is Outcome.UNKNOWN else result

    async def stop(self, bench: Bench) -> None:
        await self._terminal.stop(bench.call.id, "stopped")

    def _vouched(self, bench: Bench, arguments: TerminalArguments) -> tuple[str, str]:
        """Where it may run, and what is to be said about that."""
        found = self._workdir(bench, arguments)
        self._vouch_for(arguments.command)
        return found

    def _vouch_for(self, command: str) -> None:
        try:
            self._vouch(command)
        except Rejected as refused:
            raise ToolFailed(f"{refused}. Nothing was run.") from refused

    def _workdir(self, bench: Bench, arguments: TerminalArguments) -> tuple[str, str]:
        if not arguments.workdir:
            return workdir_of(self._places, bench.facts)
        asked = resolved(self._places, bench.facts, arguments.workdir)
        if not asked.is_dir():
            raise ToolFailed(f"workdir: {asked} is no directory. Nothing was run.")
        return str(asked), ""

    async def _demand_room(self, bench: Bench) -> None:
        listed = await self._terminal.listed(bench.session)
        running = [seen for seen in listed if isinstance(seen.state, Running)]
        known = any(seen.launch.id == bench.call.id for seen in listed)
        if len(running) >= BACKGROUND_MAX and not known:
            raise ToolFailed(
                f"{len(running)} background commands are running, the limit. "
                "End one with process kill. Nothing was run."
            )

    async def _result(self, bench: Bench, seen: Sighting, note: str) -> ToolResult:
        if seen.launch.background:
            seen = await self._terminal.wait(bench.call.id, SETTLE_S)
        else:
            seen = await self._followed(bench, seen)
        text = await excerpt_of(self._terminal, seen)
        facts = self._facts(bench, seen)
        notes = [note, *verdict_on(seen), *out_of_reach(seen)]
        if facts:
            notes.append(f"now in {facts[WORKDIR]}")
        if seen.launch.background and isinstance(seen.state, Running):
            notes.insert(0, f"running in the background as process {seen.launch.id}")
        said = "; ".join(part for part in notes if part)
        return ToolResult(text=f"{text}[{said}]", outcome=outcome_of(seen), facts=facts)

    async def _followed(self, bench: Bench, seen: Sighting) -> Sighting:
        """Until it ends, showing what it writes to those who watch."""
        shown = 0
        while True:
            seen = await self._terminal.wait(bench.call.id, PROGRESS_S)
            if not isinstance(seen.state, Pending | Running):
                return seen
            if seen.size > shown:
                start = max(shown, seen.size - PROGRESS_BYTES)
                raw = await self._terminal.read(bench.call.id, start, seen.size - start)
                text = clean_tail(raw)
                bench.watch(CallProgress(bench.call.id, text))
                shown = seen.size

    def _facts(self, bench: Bench, seen: Sighting) -> dict[str, str]:
        """Where the session is now, if the command moved it. `workdir` is for one call only."""
        arguments = ARGUMENTS.parse(bench.call.arguments)
        if arguments.workdir or seen.launch.background or not seen.workdir:
            return {}
        before = bench.facts.get(WORKDIR, self._places.root)
        moved = seen.workdir != before and Path(seen.workdir).is_absolute()
        return {WORKDIR: seen.workdir} if moved else {}


def outcome_of(seen: Sighting) -> Outcome:
    match seen.state:
        case Pending() | Running():
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
            words.append("not begun yet")
        case Running():
            words.append(f"running for {seen.took_s:.0f} s")
    if seen.full:
        words.append("its output reached the limit and was cut off there")
    return words
