"""Search files by running a command: ripgrep where there is one, else `walk.py`.

It is a command like any other: within the limits of the terminal, in its sandbox, stopped by its
id. A hostile pattern spins in a process that has a time limit, and never in ours.
"""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from hermes.ports.sandbox import python_parts
from hermes.ports.scratch import is_scratch, on_disk
from hermes.ports.terminal import (
    CommandLaunch,
    CommandRunning,
    Ended,
    Lost,
    Pending,
    Sighting,
    Terminal,
)
from hermes.ports.workspace import FileSearch, SearchFound, SearchMatch
from hermes.terminals import walk

WAIT_S = 30.0
RAW_BYTES_MAX = 512 * 1024
FAILED = "[hermes: the search failed]"
WALKER = (walk.__file__, *python_parts(sys.prefix, sys.base_prefix))


async def search_by_command(
    terminal: Terminal, search: FileSearch, *, ripgrep: bool
) -> SearchFound:
    launch = CommandLaunch(
        id=search.id,
        session=search.session,
        command=search_command(search, ripgrep=ripgrep),
        workdir=search.workdir,
        timeout_s=search.timeout_s,
        profile="read",
        workspace=search.workspace,
        scratch=search.scratch,
        readable=_seen(search, ripgrep),
    )
    seen = await _ended(terminal, launch)
    raw = await terminal.read(launch.id, 0, RAW_BYTES_MAX)
    await terminal.forget(launch.id)
    return _found(raw, seen, by_name=search.target == "files")


def search_command(search: FileSearch, *, ripgrep: bool) -> str:
    """A command that prints `path NUL line:text` for each match, or `path` for each file; and a
    last line when it failed."""
    words = _ripgrep(search) if ripgrep else _walk(search)
    return f"{shlex.join(words)} 2>&1; [ $? -le 1 ] || echo {shlex.quote(FAILED)}"


def _ripgrep(search: FileSearch) -> list[str]:
    words = ["rg", "--no-config", "--no-messages", "--color=never", "--hidden", "--sort=path"]
    words += ["--glob=!.git", f"--max-filesize={walk.FILE_BYTES_MAX}"]
    words += [f"--glob={search.glob}"] if search.glob else []
    if search.target == "files":
        words += ["--files", f"--iglob={search.pattern}"]
    else:
        words += ["--line-number", "--no-heading", "--with-filename", "--null"]
        words += [f"--max-columns={walk.SHOWN_CHARS}", "--max-columns-preview"]
        words += [f"--max-count={search.limit}"]
        words += [f"--regexp={search.pattern}"]
    words += [f"--iglob=!{name}" for name in search.hidden]  # the last ones count
    return [*words, "--", search.where]


def _walk(search: FileSearch) -> list[str]:
    by_name = search.target == "files"
    asked = {
        "pattern": search.pattern,
        "target": search.target,
        "path": search.where,
        "glob": search.pattern if by_name else search.glob,
        "limit": search.limit,
        "names": list(search.hidden),
        "guarded": list(search.guarded),
    }
    return [sys.executable, "-I", "-S", str(Path(walk.__file__)), json.dumps(asked)]


def _seen(search: FileSearch, fast: bool) -> tuple[str, ...]:
    """What its box shows beside the workspace: a place that the policy let it name, its program."""
    where = search.where
    shown = search.scratch and Path(on_disk(where, search.scratch)).exists() and is_scratch(where)
    outside = (where,) if where.startswith("/") and not shown else ()
    return outside if fast else (*outside, *WALKER)


async def _ended(terminal: Terminal, launch: CommandLaunch) -> Sighting:
    """A search may run again: what is left of one that was lost is dropped."""
    seen = await terminal.launch(launch)
    if isinstance(seen.state, Lost) or (isinstance(seen.state, Ended) and seen.state.cut):
        await terminal.forget(launch.id)
        await terminal.launch(launch)
    while True:
        seen = await terminal.wait(launch.id, WAIT_S)
        if not isinstance(seen.state, Pending | CommandRunning):
            return seen


def _found(raw: bytes, seen: Sighting, *, by_name: bool) -> SearchFound:
    lines = raw.decode("utf-8", "replace").splitlines()
    said = [line for line in lines if line != FAILED]
    return SearchFound(
        matches=tuple(_matches(said, by_name=by_name)),
        failed=len(said) < len(lines),
        said=" ".join(line.strip() for line in said),
        cut=isinstance(seen.state, Ended) and bool(seen.state.cut),
        took_s=seen.took_s,
    )


def _matches(lines: Sequence[str], *, by_name: bool) -> list[SearchMatch]:
    if by_name:
        return [SearchMatch(line.partition("\x00")[0]) for line in lines]
    found: list[SearchMatch] = []
    for line in lines:
        path, zero, rest = line.partition("\x00")
        number, _, text = rest.partition(":")
        if zero and number.isdecimal():
            found.append(SearchMatch(path, int(number), text))
    return found
