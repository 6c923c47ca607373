"""`search_files`: by content or by name. The workspace searches; what it found is judged here."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.core.messages import Effect, Outcome
from hermes.core.policy import Capability
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.lazy import LazyPattern
from hermes.ports.scratch import as_seen
from hermes.ports.workspace import FileSearch, SearchFound, SearchMatch, Workspace
from hermes.tools.arguments import Arguments
from hermes.tools.files.file_labels import FileLabels, together
from hermes.tools.files.opening import JudgedFiles
from hermes.tools.files.paths import CAME_FROM, here, path_of, placed, workdir_of
from hermes.tools.files.reachable import Sensitivity, file_finding, labels_of, reach_of
from hermes.tools.output import CONTROLS, clipped, joined, line_cut
from hermes.tools.shell.paths import SECRET_NAMES, absolute
from hermes.views.tool_specs import spec_of

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
SEARCH_S_MAX = 30.0
LINE_CHARS = 600
MESSAGE_CHARS = 600
HERE = "./"
# What a glob does not have: anchors, escapes, groups, `.*`.
_REGEX = LazyPattern(r"^\^|\$$|\\[.wdsb]|\.[*+]|\([^)]*\||\w\|\w")
_LITERAL = LazyPattern(r"(?<!\\)[(\[{]")

DESCRIPTION = (
    "Search files: target content (pattern is a regex; gives path:line:text) or files "
    "(pattern is a name glob such as *.py). Skips what .gitignore names."
)


class SearchArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pattern: str
    target: Annotated[Literal["content", "files"] | None, Meta(description="default content")] = (
        None
    )
    path: Annotated[str | None, Meta(description="file or directory, default: here")] = None
    glob: Annotated[str | None, Meta(description="only these files, such as *.py")] = None
    limit: Annotated[int | None, Meta(description="results, default 50")] = None


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
    workspace: Workspace, *, labels: FileLabels | None = None, seconds_max: float = SEARCH_S_MAX
) -> Tool:
    places = workspace.places

    async def run(context: ToolContext) -> ToolResult:
        arguments = ARGUMENTS.parse(context.call.arguments)
        files = JudgedFiles(workspace.files, here(places, context.facts))
        workdir, where = await asyncio.to_thread(_where, workspace, files, context, arguments)
        by_name = arguments.target == "files"
        search = FileSearch(
            id=context.call.id,
            session=context.session,
            target="files" if by_name else "content",
            pattern=name_glob(arguments.pattern) if by_name else arguments.pattern,
            where=where,
            workdir=workdir,
            workspace=context.facts.get(CAME_FROM, ""),
            scratch=files.places.scratch,
            glob=arguments.glob or "",
            limit=(arguments.limit or LIMIT_DEFAULT) + 1,
            timeout_s=seconds_max,
            hidden=tuple(sorted(SECRET_NAMES)),
            guarded=places.guarded,
        )
        found = await workspace.search(search)
        reaches = await asyncio.to_thread(_reaches, files, search, found)
        result = _result(found, arguments, reaches)
        if labels is None or result.outcome is not Outcome.OK:
            return result
        own = await asyncio.to_thread(
            _labels, labels, [placed(files.places, absolute(path, workdir)) for path in reaches]
        )
        return replace(result, labels=(*result.labels, *own))

    async def stop(context: ToolContext) -> None:
        await workspace.terminal.stop(context.call.id, "stopped")

    return Tool(
        question="Search these files?",
        spec=spec_of("search_files", DESCRIPTION, SearchArguments),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(lambda _: Effect.READ),
        run=run,
        capabilities=frozenset({Capability.READ}),
        parallel=True,
        judge=lambda text, facts: file_finding(places, facts, ARGUMENTS.parse(text).path or "."),
        stop=stop,
    )


def name_glob(pattern: str) -> str:
    """A pattern without wildcards is looked for anywhere in the name."""
    return pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"


def other_ways(arguments: SearchArguments) -> list[str]:
    """Say how to look otherwise where nothing was found."""
    by_name = arguments.target == "files"
    glob = arguments.pattern if by_name else arguments.glob or ""
    field = "pattern" if by_name else "glob"
    if _REGEX.search(glob):
        meant = _as_glob(glob)
        instead = f"; use {meant}" if meant else ", such as *.py"
        return [f"{field} {glob} is a regular expression, and {field} takes a glob{instead}"]
    if by_name:
        ways = [
            "try a part of the name, such as *config*, or target content",
            "what .gitignore names is skipped: `ls -a` shows it",
        ]
    else:
        ways = ["try other words, (?i) for any letter case, or target files for names"]
        ways += ["a literal ( is \\( in a regex"] if _LITERAL.search(arguments.pattern) else []
    given = ["path"] if arguments.path else []
    given += ["glob"] if arguments.glob else []
    return [*ways, f"search without {' and '.join(given)}"] if given else ways


def _as_glob(regex: str) -> str:
    """The glob that was meant, where that is plain; else nothing."""
    bare = regex.removeprefix("^").removesuffix("$").replace(".*", "*").replace("\\.", ".")
    return bare if bare and not set(bare) & set("\\()|+^$") else ""


def _where(
    workspace: Workspace, files: JudgedFiles, context: ToolContext, arguments: SearchArguments
) -> tuple[str, str]:
    """The working directory, and what to search, by its real path: the search follows no link, also
    none that is put there later."""
    workdir, _note = workdir_of(workspace.files, files.places, context.facts)
    if arguments.path:
        real = files.real_path(path_of(files.places, context.facts, arguments.path))
        return workdir, as_seen(real, files.places.scratch)
    files.real_path(PurePosixPath(placed(files.places, workdir)))
    return workdir, HERE


def _reaches(files: JudgedFiles, search: FileSearch, found: SearchFound) -> dict[str, Sensitivity]:
    """Of each path that was found. The one that was asked for by its name was judged by it."""
    full = {
        each.path: placed(files.places, absolute(each.path, search.workdir))
        for each in found.matches
    }
    reaches = {path: reach_of(files.places, real) for path, real in full.items()}
    for path, reach in reaches.items():
        if reach is Sensitivity.KEYS and full[path] == placed(files.places, search.where):
            reaches[path] = Sensitivity.ELSEWHERE
    plain = [path for path, reach in reaches.items() if reach < Sensitivity.KEYS]
    second = files.second_names([full[path] for path in plain])
    return reaches | {path: Sensitivity.GUARDED for path in plain if full[path] in second}


def _result(
    found: SearchFound, arguments: SearchArguments, reaches: dict[str, Sensitivity]
) -> ToolResult:
    rows = [_row(each) for each in found.matches if reaches[each.path] < Sensitivity.KEYS]
    if found.failed and (arguments.target == "files" or not rows):
        text = f"The search failed: {found.said[:MESSAGE_CHARS]}"
        return ToolResult(text=text, outcome=Outcome.FAILED)
    limit = arguments.limit or LIMIT_DEFAULT
    notes = [f"only the first {limit}; narrow the search or raise limit"] * (len(rows) > limit)
    if found.cut:
        notes.append(f"not finished after {found.took_s:.0f} s")
    if len(rows) < len(found.matches):
        left_out = len(found.matches) - len(rows)
        notes.append(f"{left_out} in files of keys or secrets left out")
    if not rows:
        notes = ["no matches", *notes, *other_ways(arguments)]
    part = clipped("\n".join(rows[:limit]))
    text = joined(part, left_out=f"{part.left_out:,} bytes left out; narrow the search")
    said = f"[{'; '.join(notes)}]" if notes else ""
    worst = max(
        (each for each in reaches.values() if each < Sensitivity.KEYS), default=Sensitivity.WORK
    )
    shown = "\n".join(piece for piece in (text, said) if piece)
    return ToolResult(text=shown, labels=labels_of(worst))


def _labels(labels: FileLabels, paths: Sequence[str]) -> tuple[str, ...]:
    return together(map(labels.of, paths))


def _row(found: SearchMatch) -> str:
    path = found.path.removeprefix("./")
    shown = f"{path}:{found.line}:{found.text}" if found.line else path
    return line_cut(CONTROLS.sub("\ufffd", shown), LINE_CHARS)
