"""`search_files`: by content or by name, with ripgrep where there is one, else with `walk.py`.

Both run as commands in the terminal: within its limits, in its sandbox, and nothing here starts a
process.
"""

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hermes.core.messages import Effect, Outcome
from hermes.core.policy import Capability
from hermes.core.ports import Bench, Tool, ToolResult, ToolSpec
from hermes.tools import walk
from hermes.tools.arguments import Arguments
from hermes.tools.opening import is_second_name, real_path
from hermes.tools.output import CONTROLS, clipped, joined, line_cut
from hermes.tools.paths import CAME_FROM, Places, here, lexical, workdir_of
from hermes.tools.reachable import Reach, file_finding, labels_of, reach_of
from hermes.tools.second_names import SecondNames
from hermes.tools.shell_paths import SECRET_NAMES, absolute
from hermes.views.sandbox import python_parts
from hermes.views.terminal import Ended, Launch, Lost, Pending, Running, Sighting, Terminal

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
SEARCH_S_MAX = 30.0
RAW_BYTES_MAX = 512 * 1024
LINE_CHARS = 600
MESSAGE_CHARS = 600
FAILED = "[hermes: the search failed]"
WALKER = (walk.__file__, *python_parts(sys.prefix, sys.base_prefix))

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
        ground = here(places, bench.facts)
        where = await asyncio.to_thread(_where, ground, bench, arguments)
        fast = bool(terminal.which("rg")) if ripgrep is None else ripgrep
        command = search_command(arguments, where, places.guarded, ripgrep=fast)
        workdir, _note = workdir_of(ground, bench.facts)
        launch = Launch(
            id=bench.call.id,
            session=bench.session,
            command=command,
            workdir=workdir,
            timeout_s=seconds_max,
            profile="read",
            workspace=bench.facts.get(CAME_FROM, ""),
            readable=_seen(where, fast),
        )
        seen = await _ended(terminal, launch)
        raw = await terminal.read(launch.id, 0, RAW_BYTES_MAX)
        await terminal.forget(launch.id)
        reach = _Reaches(ground, workdir, where)
        return await asyncio.to_thread(_result, raw, seen, arguments, reach)

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


def _seen(where: str, fast: bool) -> tuple[str, ...]:
    """What its box shows beside the workspace: a place that the policy let it name, its program."""
    outside = (where,) if Path(where).is_absolute() else ()
    return outside if fast else (*outside, *WALKER)


def search_command(
    arguments: SearchArguments, where: str, guarded: Sequence[str] = (), *, ripgrep: bool
) -> str:
    """A command that prints `path NUL line:text` for each match, or `path` for each file, one
    more than was asked for; and a last line when it failed."""
    limit = (arguments.limit or LIMIT_DEFAULT) + 1
    if ripgrep:
        words = _ripgrep(arguments, where, limit)
    else:
        words = _walk(arguments, where, guarded, limit)
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
    words += [f"--iglob=!{name}" for name in sorted(SECRET_NAMES)]  # the last ones count
    return [*words, "--", where]


def _walk(arguments: SearchArguments, where: str, guarded: Sequence[str], limit: int) -> list[str]:
    by_name = arguments.target == "files"
    asked = {
        "pattern": arguments.pattern,
        "target": "files" if by_name else "content",
        "path": where,
        "glob": name_glob(arguments.pattern) if by_name else arguments.glob or "",
        "limit": limit,
        "names": sorted(SECRET_NAMES),
        "guarded": list(guarded),
    }
    return [sys.executable, "-I", "-S", str(Path(walk.__file__)), json.dumps(asked)]


def name_glob(pattern: str) -> str:
    """A pattern without wildcards is looked for anywhere in the name."""
    return pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"


def _where(places: Places, bench: Bench, arguments: SearchArguments) -> str:
    """By its real path: the search follows no link, also none that is put there later."""
    if arguments.path:
        return real_path(places, Path(lexical(places, bench.facts, arguments.path)))
    workdir, _note = workdir_of(places, bench.facts)
    real_path(places, Path(workdir))
    return "./"


class _Reaches:
    """Of files that were found. The one that was asked for by its name was judged by it."""

    def __init__(self, places: Places, workdir: str, where: str) -> None:
        self._places, self._workdir, self._where = places, workdir, where
        self._names = SecondNames(places)
        self._known: dict[str, Reach] = {}

    def __call__(self, path: str) -> Reach:
        full = absolute(path, self._workdir)
        if full not in self._known:
            self._known[full] = self._judged(full)
        return self._known[full]

    def _judged(self, full: str) -> Reach:
        reach = reach_of(self._places, full)
        if reach is Reach.KEYS and full == self._where:
            return Reach.ELSEWHERE
        if reach < Reach.KEYS and is_second_name(self._places, Path(full), self._names):
            return Reach.GUARDED
        return reach


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


def _result(
    raw: bytes, seen: Sighting, arguments: SearchArguments, reach: Callable[[str], Reach]
) -> ToolResult:
    lines = raw.decode("utf-8", "replace").splitlines()
    by_name = arguments.target == "files"
    failed = FAILED in lines
    found = [line for line in lines if ("\x00" in line or by_name) and line != FAILED]
    reaches = {line: reach(line.partition("\x00")[0]) for line in found}
    rows = [_row(line) for line in found if reaches[line] < Reach.KEYS]
    if failed and (by_name or not rows):
        said = " ".join(line.strip() for line in lines if line != FAILED)
        return ToolResult(text=f"The search failed: {said[:MESSAGE_CHARS]}", outcome=Outcome.FAILED)
    limit = arguments.limit or LIMIT_DEFAULT
    notes = [f"only the first {limit}; narrow the search or raise limit"] * (len(rows) > limit)
    if isinstance(seen.state, Ended) and seen.state.cut:
        notes.append(f"not finished after {seen.took_s:.0f} s")
    if len(rows) < len(found):
        notes.append(f"{len(found) - len(rows)} in files of keys or secrets left out")
    if not rows:
        notes.insert(0, "no matches")
    part = clipped("\n".join(rows[:limit]))
    text = joined(part, left_out=f"{part.left_out:,} bytes left out; narrow the search")
    said = f"[{'; '.join(notes)}]" if notes else ""
    worst = max((each for each in reaches.values() if each < Reach.KEYS), default=Reach.WORK)
    shown = "\n".join(piece for piece in (text, said) if piece)
    return ToolResult(text=shown, labels=labels_of(worst))


def _row(line: str) -> str:
    path, _, rest = line.partition("\x00")
    shown = f"{path.removeprefix('./')}:{rest}" if rest else path.removeprefix("./")
    return line_cut(CONTROLS.sub("\ufffd", shown), LINE_CHARS)
