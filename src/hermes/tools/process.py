"""`process`: background commands, after a restart too. The folder of calls is their register."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId
from hermes.core.messages import Effect
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Presented, Tool, ToolContext, ToolResult
from hermes.lazy import LazyModule
from hermes.ports.terminal import CommandLaunch, CommandRunning, Pending, Sighting, Terminal
from hermes.ports.workspace import Workspace, WorkspacePaths
from hermes.text.plurals import counted
from hermes.text.visible_text import visible_text
from hermes.tools.arguments import Arguments
from hermes.tools.excerpt import excerpt_of, line_start, lines_between
from hermes.tools.files.paths import here
from hermes.tools.output import clean, clipped, joined, line_cut
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.terminal import verdict_on
from hermes.views.tool_specs import spec_of

if TYPE_CHECKING:
    from hermes.tools.shell import command as shell_command
else:
    shell_command = LazyModule("hermes.tools.shell.command")

WAIT_S_DEFAULT = 60.0
WAIT_S_MAX = 3_600.0
LISTED_MAX = 50
POLL_HEAD_BYTES, POLL_TAIL_BYTES = 500, 3_500
LOG_LINES_DEFAULT, LOG_LINES_MAX = 200, 2_000
LOG_BYTES_MAX, LOG_LINE_CHARS = 262_144, 2_000
COMMAND_CHARS = 100

DESCRIPTION = (
    "Look after background commands of this session: list; poll (state and latest output); "
    "wait (until it ends or timeout); log (output by lines); write (to its stdin); kill."
)


class ProcessArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Literal["list", "poll", "wait", "log", "write", "kill"]
    id: str | None = None
    data: Annotated[str | None, Meta(description="for write; end a line with \\n")] = None
    timeout: Annotated[float | None, Meta(description="seconds to wait, default 60")] = None
    offset: Annotated[
        int | None, Meta(description="first line for log, default: the last ones")
    ] = None
    limit: int | None = None


def process_rule(arguments: ProcessArguments) -> str:
    if arguments.action != "list" and not arguments.id:
        return f"id: {arguments.action} needs the id of a process; action list shows them."
    if arguments.action == "write" and not arguments.data:
        return "data: write needs the text to put into the input."
    if arguments.timeout is not None and not 0 <= arguments.timeout <= WAIT_S_MAX:
        return f"timeout: give seconds between 0 and {WAIT_S_MAX:.0f}."
    if arguments.offset is not None and arguments.offset < 1:
        return "offset: lines are counted from 1."
    if arguments.limit is not None and not 1 <= arguments.limit <= LOG_LINES_MAX:
        return f"limit: give between 1 and {LOG_LINES_MAX} lines."
    return ""


def process_effect(arguments: ProcessArguments) -> Effect:
    match arguments.action:
        case "write":
            return Effect.EFFECT
        case "kill":
            return Effect.IDEMPOTENT
        case _:
            return Effect.READ


ARGUMENTS = Arguments(ProcessArguments, process_rule)


def process_tool(workspace: Workspace) -> Tool:
    terminal, places = workspace.terminal, workspace.places

    async def run(context: ToolContext) -> ToolResult:
        arguments = ARGUMENTS.parse(context.call.arguments)
        listed = await terminal.listed(context.session)
        if arguments.action == "list":
            return ToolResult(text=_table(listed), pending=any(map(_goes_on, listed)))
        seen = _chosen(listed, arguments.id or "")
        return await _acted(terminal, seen, arguments)

    return Tool(
        question="Use this running command?",
        spec=spec_of("process", DESCRIPTION, ProcessArguments),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(process_effect),
        run=run,
        capabilities=frozenset({Capability.EXECUTE}),
        ways=(frozenset({Capability.EXECUTE}), frozenset({Capability.READ})),
        judge=lambda arguments, facts: _judged(terminal, places, arguments, facts),
        present=lambda arguments, _facts: _presented(terminal, arguments),
    )


def _judged(
    terminal: Terminal, places: WorkspacePaths, arguments: str, facts: Mapping[str, str]
) -> Finding:
    """To look at what runs already is no more than reading; to write to it is to give it orders."""
    given = ARGUMENTS.parse(arguments)
    if given.action == "write":
        launch = terminal.launched(CallId(given.id or ""))
        found = shell_command.input_finding(given.data or "", launch, _place(places, facts, launch))
        same = ["write", given.id, given.data]
        return replace(found, identity=msgspec.json.encode(same).decode())
    looks = process_effect(given) is Effect.READ
    return Finding(capabilities=frozenset({Capability.READ}) if looks else None)


def _presented(terminal: Terminal, arguments: str) -> Presented:
    given = ARGUMENTS.parse(arguments)
    launch = terminal.launched(CallId(given.id or ""))
    if given.action == "write":
        return shell_command.input_presented(given.data or "", launch)
    command = line_cut(" ".join(launch.command.split()), COMMAND_CHARS) if launch else ""
    return Presented(
        text=visible_text(f"{given.action} {given.id or ''}"), notes=(visible_text(command),)
    )


def _place(
    places: WorkspacePaths, facts: Mapping[str, str], launch: CommandLaunch | None
) -> CommandPlace:
    ground = here(places, facts)
    cwd = launch.workdir if launch is not None else ground.root
    return CommandPlace(
        root=ground.root,
        cwd=cwd,
        home=places.home,
        guarded=places.guarded,
        scratch=ground.scratch,
    )


async def _acted(terminal: Terminal, seen: Sighting, arguments: ProcessArguments) -> ToolResult:
    call = seen.launch.id
    match arguments.action:
        case "write":
            raw = (arguments.data or "").encode()
            taken = await terminal.write(call, raw)
            if taken < len(raw):
                raise ToolFailed(
                    f"Its input is full: it took {taken:,} of {len(raw):,} bytes. "
                    "Write the rest when it has read some."
                )
            return ToolResult(text=f"Wrote {taken:,} bytes to its input.")
        case "log":
            text = await _log(terminal, seen, arguments)
            return ToolResult(text=text, pending=_goes_on(seen))
        case "wait":
            wait_s = WAIT_S_DEFAULT if arguments.timeout is None else arguments.timeout
            seen = await terminal.wait(call, wait_s)
        case "kill":
            seen = await terminal.stop(call, "stopped") or seen
            return ToolResult(text=_standing(seen))
        case _:
            pass
    text = await excerpt_of(terminal, seen, POLL_HEAD_BYTES, POLL_TAIL_BYTES)
    return ToolResult(text=f"{text}{_standing(seen)}", pending=_goes_on(seen))


async def _log(terminal: Terminal, seen: Sighting, arguments: ProcessArguments) -> str:
    """A window of lines: from `offset` on, or the last ones."""
    call, size = seen.launch.id, seen.size
    total = await lines_between(terminal, call, 0, size)
    limit = arguments.limit or LOG_LINES_DEFAULT
    first = arguments.offset or max(1, total - limit + 1)
    start = await line_start(terminal, call, first, size)
    lines = clean(await terminal.read(call, start, LOG_BYTES_MAX)).splitlines()[:limit]
    if not lines:
        return f"[there is no line {first:,} yet: {counted(total, 'line')} so far]"
    part = clipped("\n".join(line_cut(line, LOG_LINE_CHARS) for line in lines))
    text = joined(part, left_out=f"{part.left_out:,} bytes left out; ask for fewer lines")
    return f"{text}\n[from line {first:,} of {total:,}; all of it is in {seen.output}]"


def _chosen(listed: tuple[Sighting, ...], asked: str) -> Sighting:
    for seen in listed:
        if seen.launch.id == asked:
            return seen
    known = ", ".join(seen.launch.id for seen in listed[-LISTED_MAX:]) or "none"
    raise ToolFailed(f"id: there is no background command {asked[:80]}. The ids are: {known}.")


def _table(listed: tuple[Sighting, ...]) -> str:
    if not listed:
        return "No background commands in this session."
    rows = [
        f"{seen.launch.id}  {'; '.join(verdict_on(seen))}  "
        f"{line_cut(' '.join(seen.launch.command.split()), COMMAND_CHARS)}"
        for seen in listed[-LISTED_MAX:]
    ]
    older = len(listed) - len(rows)
    return "\n".join([*([f"[{older} older ones left out]"] if older else []), *rows])


def _goes_on(seen: Sighting) -> bool:
    return isinstance(seen.state, Pending | CommandRunning)


def _standing(seen: Sighting) -> str:
    return f"[{'; '.join(verdict_on(seen))}]"
