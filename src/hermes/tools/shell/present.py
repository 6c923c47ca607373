"""Show a command to the person who decides: all of it, and the programs it would really start.

Its files are held by their digests, so that what runs later is what was shown.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from hermes.core.ports import Presented
from hermes.text.plurals import counted
from hermes.text.visible_text import both_ends
from hermes.tools.shell.digests import (
    PATH,
    FileDigest,
    code_in,
    git_code,
    program,
    scripts,
    words_in,
)
from hermes.tools.shell.programs import RUNNERS
from hermes.tools.shell.verdict import Judgement
from hermes.tools.shell.words import Invocation
from hermes.views.cards import code, named

HEAD_CHARS, TAIL_CHARS = 1_500, 500
PROGRAMS_MAX = 30
FILES_SHOWN = 10
# What they run stands in files that the command does not name.
FINDERS = frozenset(
    {"make", "npm", "pnpm", "yarn", "npx", "cargo", "go", "pytest", "py.test", "tox", "gradle"}
)
# Of those that can run any code: what they run stands in the command.
NAME_THEIR_CODE = frozenset(
    {"alias", "docker", "export", "find", "ftp", "ln", "man", "nc", "ncat", "podman", "sed", "set"}
    | {"socat", "ssh", "tar", "zip"}
)


def present_command(
    command: str, judged: Judgement, cwd: Path, *, folders: Sequence[str] = PATH
) -> Presented:
    programs: list[str] = []
    held: list[FileDigest] = []
    code_digest, files = "", 0
    for call in judged.invocations[:PROGRAMS_MAX]:
        try:
            found = program(call.name or call.spelled, cwd, folders)
            held += [found] if found is not None else []
        except (OSError, ValueError):
            found = None
        known = found.path if found is not None else call.name
        programs.append(named(known) if known else _odd(call))
    names = list(dict.fromkeys(call.name for call in judged.invocations))
    literal = [w.text for call in judged.invocations for w in call.words if w.text is not None]
    own = git_code(cwd) if "git" in names else []
    held += scripts(dict.fromkeys([*literal, *judged.inputs, *words_in(command), *own]), cwd)
    if not judged.invocations or any(map(runs_code, judged.invocations)):
        code_digest, files = code_in(cwd)
    notes = [f"Folder: {named(str(cwd))}"]
    if programs:
        notes.append(f"Programs: {', '.join(dict.fromkeys(programs))}")
    scripts_held = [each for each in held if _is_script(each, cwd)]
    notes += [f"File: {named(each.path)} as it is now" for each in scripts_held[:FILES_SHOWN]]
    if len(scripts_held) > FILES_SHOWN:
        notes.append(f"And {len(scripts_held) - FILES_SHOWN:,} more files as they are now")
    if finds := [each for each in names if each in FINDERS]:
        notes.append(f"Note: {', '.join(finds)} runs files that it finds in the folder by itself")
    if code_digest and files:
        notes.append(f"Code: {counted(files, 'file')} of this folder. If one changes, I ask again")
    return Presented(
        text=both_ends(command, HEAD_CHARS, TAIL_CHARS),
        notes=tuple(dict.fromkeys(notes)),
        bound=msgspec.json.encode([str(cwd), held, code_digest]).decode(),
    )


def runs_code(call: Invocation) -> bool:
    """May it run code of the folder that the command does not name?"""
    return not call.name or call.name in (RUNNERS | FINDERS) - NAME_THEIR_CODE


def _is_script(held: FileDigest, cwd: Path) -> bool:
    return Path(held.path).is_relative_to(cwd)


def _odd(call: Invocation) -> str:
    spelled = f"{code(call.spelled[:40])} " if call.spelled else ""
    return f"{spelled}(known only when it runs)"
