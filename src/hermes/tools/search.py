"""`search_files`: by content or by name, with ripgrep where there is one, else with `walk.py`.

Both run as commands in the terminal: within its limits, in its sandbox, and nothing here starts a
process.
"""

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.messages import Effect, Outcome
from hermes.core.policy import Capability
from hermes.core.ports import Bench, Tool, ToolResult, ToolSpec
from hermes.tools import walk
from hermes.tools.arguments import Arguments
from hermes.tools.output import CONTROLS, clipped, joined, line_cut
from hermes.tools.paths import Places, resolved, suggestion, workdir_of
from hermes.tools.reachable import file_finding
from hermes.views.terminal import Ended, Launch, Lost, Pending, Running, Sighting, Terminal

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
SEARCH_S_MAX = 30.0
RAW_BYTES_MAX = 512 * 1024
LINE_CHARS = 600
MESSAGE_CHARS = 600
FAILED = "[hermes: the search failed]"

SPEC = ToolSpec(
    name="search_files",
    description=(
        "Search files: target content (pattern is a regex; gives path:line:text) or files "
        "(pattern is a name glob such as *.py). Skips what .gitignore names."
    ),
    parameters=(
        '{"type":"object","properties":{'
        '"pattern":{"type":"string"},'
        '"target":{"enum":["content","files"],"description":"default content"},'
        '"path":{"type":"string","description":"file or directory, default: here"},'
        '"glob":{"type":"string","description":"only these files, such as *.py"},'
        '"limit":{"type":"integer","description":"results, default 50"}'
        '},"required":["pattern"]}'
    ),
)


class SearchArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pattern: str
    target: Literal["content", "files"] | None = None
    path: str | None = None
    glob: str | None = None
    limit: int | None = None


def search_rule(arguments: SearchArguments) -> str:
    if not arguments.pattern:
        return "pattern: it is empty."
    if "\x00" in arguments.pattern + (arguments.glob or ""):
        return "pattern: it contains a NUL character."
    if "\n" in arguments.pattern:
        return "pattern: a match lies within one line; leave the line break out."
    if arguments.limit is not None and not 1 <= arguments.limit <= LIMIT_MAX:
        return f"limit: give between 1 and {LIMIT_MAX}."
    return ""


ARGUMENTS = Arguments(SearchArguments, search_rule)


def search_tool(
    terminal: Terminal,
    places: Places,
    *,
    ripgrep: bool | None = None,
    seconds_max: float = SEARCH_S_MAX,
) -> Tool:
    """`ripgrep` says whether to use it; left open, it is used where the terminal has it."""

    async def run(bench: Bench) -> ToolResult:
        arguments = ARGUMENTS.parse(bench.call.arguments)
        where = await asyncio.to_thread(_where, places, bench, arguments)
        fast = bool(terminal.which("rg")) if ripgrep is None else ripgrep
        command = search_command(arguments, where, ripgrep=fast)
        workdir, _note = workdir_of(places, bench.facts)
        launch = Launch(
            id=bench.call.id,
            session=bench.session,
            command=command,
            workdir=workdir,
            timeout_s=seconds_max,
        )
        seen = await _ended(terminal, launch)
        raw = await terminal.read(launch.id, 0, RAW_BYTES_MAX)
        await terminal.forget(launch.id)
        return _result(raw, seen, arguments)

    async def stop(bench: Bench) -> None:
        await terminal.stop(bench.call.id, "stopped")

    return Tool(
        spec=SPEC,
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(lambda _: Effect.READ),
        run=run,
        capabilities=frozenset({Capability.READ}),
        judge=lambda text, facts: file_finding(places, facts, ARGUMENTS.parse(text).path or "."),
        stop=stop,
    )


def search_command(arguments: SearchArguments, where: str, *, ripgrep: bool) -> str:
    """A command that prints `path NUL line:text` for each match, or `path` for each file, one
    more than was asked for; and a last line when it failed."""
    limit = (arguments.limit or LIMIT_DEFAULT) + 1
    words = (_ripgrep if ripgrep else _walk)(arguments, where, limit)
    return f"{shlex.join(words)} 2>&1; [ $? -le 1 ] || echo {shlex.quote(FAILED)}"


def _ripgrep(arguments: SearchArguments, where: str, limit: int) -> list[str]:
    words = ["rg", "--no-config", "--no-messages", "--color=never", "--hidden", "--sort=path"]
    words += ["--glob=!.git", f"--max-filesize={walk.FILE_BYTES_MAX}"]
    words += [f"--glob={arguments.glob}"] if arguments.glob else []
    if arguments.target == "files":
        words += ["--files", f"--iglob={name_glob(arguments.pattern)}"]
    else:
        words += ["--line-number", "--no-heading", "--with-filename", "--null"]
        words += [f"--max-columns={walk.SHOWN_CHARS}", "--max-columns-preview"]
        words += [f"--max-count={limit}"]
        words += [f"--regexp={arguments.pattern}"]
    return [*words, "--", where]


def _walk(arguments: SearchArguments, where: str, limit: int) -> list[str]:
    by_name = arguments.target == "files"
    asked = {
        "pattern": arguments.pattern,
        "target": "files" if by_name else "content",
        "path": where,
        "glob": name_glob(arguments.pattern) if by_name else arguments.glob or "",
        "limit": limit,
    }
    return [sys.executable, "-I", "-S", str(Path(walk.__file__)), json.dumps(asked)]


def name_glob(pattern: str) -> str:
    """A pattern without wildcards is looked for anywhere in the name."""
    return pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"


def _where(places: Places, bench: Bench, arguments: SearchArguments) -> str:
    if not arguments.path:
        return "./"
    path = resolved(places, bench.facts, arguments.path)
    if not path.exists():
        raise ToolFailed(f"path: {path} does not exist.{suggestion(path)}")
    return str(path)


async def _ended(terminal: Terminal, launch: Launch) -> Sighting:
    """A search may run again: what is left of one that was lost is dropped."""
    seen = await terminal.launch(launch)
    if isinstance(seen.state, Lost) or (isinstance(seen.state, Ended) and seen.state.cut):
        await terminal.forget(launch.id)
        await terminal.launch(launch)
    while True:
        seen = await terminal.wait(launch.id, SEARCH_S_MAX)
        if not isinstance(seen.state, Pending | Running):
            return seen


def _result(raw: bytes, seen: Sighting, arguments: SearchArguments) -> ToolResult:
    lines = raw.decode("utf-8", "replace").splitlines()
    by_name = arguments.target == "files"
    failed = FAILED in lines
    rows = [_row(line) for line in lines if ("\x00" in line or by_name) and line != FAILED]
    if failed and (by_name or not rows):
        said = " ".join(line.strip() for line in lines if line != FAILED)
        return ToolResult(text=f"The search failed: {said[:MESSAGE_CHARS]}", outcome=Outcome.FAILED)
    limit = arguments.limit or LIMIT_DEFAULT
    notes = [f"only the first {limit}; narrow the search or raise limit"] * (len(rows) > limit)
    if isinstance(seen.state, Ended) and seen.state.cut:
        notes.append(f"not finished after {seen.took_s:.0f} s")
    if not rows:
        notes.insert(0, "no matches")
    part = clipped("\n".join(rows[:limit]))
    text = joined(part, left_out=f"{part.left_out:,} bytes left out; narrow the search")
    said = f"[{'; '.join(notes)}]" if notes else ""
    return ToolResult(text="\n".join(piece for piece in (text, said) if piece))


def _row(line: str) -> str:
    path, _, rest = line.partition("\x00")
    shown = f"{path.removeprefix('./')}:{rest}" if rest else path.removeprefix("./")
    return line_cut(CONTROLS.sub("\ufffd", shown), LINE_CHARS)
