"""What a path means to the policy: whose business the file is, and what may happen to it.

The policy judges the letters before anything is touched. The same judgement is made again of the
real path of what was opened, so a link can lead to nothing worse than what was judged.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import reduce
from pathlib import PurePath

from hermes.core.errors import ToolFailed
from hermes.core.grants import is_beneath
from hermes.core.policy import PRIVATE, SECRET, Capability, Finding
from hermes.core.rules import Allow, Ask, Deny
from hermes.ports.workspace import WorkspacePaths
from hermes.tools.files.paths import here, lexical
from hermes.tools.shell.paths import (
    EXAMPLE_FILE,
    PRIVATE_FILE,
    CommandPlace,
    Zone,
    is_temporary,
    is_trap,
    zone_of,
)
from hermes.views.cards import named
from hermes.views.obeyed_files import is_obeyed

WORKSPACE = "workspace"  # of a gateway, inside of its home: no part of what is guarded there
OUTPUT = re.compile(r"/calls/(?P<call>[A-Za-z0-9][A-Za-z0-9._-]{0,127})/output", re.ASCII)
# What was typed, passwords among it.
HISTORY = re.compile(r"\.\w*_?history|\.lesshst|\.viminfo", re.ASCII)
_C = Capability
WRITES, LASTS = frozenset({_C.WRITE}), frozenset({_C.WRITE, _C.LASTING})
RUNS_LATER = frozenset({_C.WRITE, _C.WRITE_SELF})
OBEYED_LATER = frozenset({_C.WRITE, _C.WRITE_RUN_LATER})
PRIVATELY = frozenset({_C.READ_PRIVATE})


class Sensitivity(IntEnum):
    """The graver the later."""

    WORK = 0  # the workspace
    SYSTEM = 1  # what everybody may know of the machine
    ELSEWHERE = 2  # the rest of the person's files
    KEYS = 3  # by its name it holds keys or passwords
    GUARDED = 4  # never: our own files, credentials, other processes


def reach_of(places: WorkspacePaths, full: str) -> Sensitivity:
    """Of an absolute, normalised path, by its letters."""
    if is_in_scratch(places, full):
        return Sensitivity.KEYS if _holds_keys(full.rpartition("/")[2]) else Sensitivity.WORK
    if _is_guarded(places, full) and output_call(places, full) is None:
        return Sensitivity.GUARDED
    if output_call(places, full) is not None:
        return Sensitivity.WORK
    name = full.rpartition("/")[2]
    if HISTORY.fullmatch(name.casefold()):
        return Sensitivity.GUARDED
    match zone_of(full, _place(places), places.root):
        case Zone.SECRET:
            return Sensitivity.GUARDED
        case Zone.SYSTEM:
            return Sensitivity.SYSTEM
        case _ if _holds_keys(name):
            return Sensitivity.KEYS
        case Zone.ELSEWHERE:
            return Sensitivity.ELSEWHERE
        case Zone.WORK:
            # A command has a /tmp of its own; here it is the machine's, with other programs' files.
            elsewhere = is_temporary(full, _place(places))
            return Sensitivity.ELSEWHERE if elsewhere else Sensitivity.WORK


def is_in_scratch(places: WorkspacePaths, full: str) -> bool:
    """Is it in the scratch place of this conversation, which its commands know as `/tmp`?"""
    return bool(places.scratch) and is_beneath(full, places.scratch)


def _holds_keys(name: str) -> bool:
    return bool(PRIVATE_FILE.fullmatch(name)) and not EXAMPLE_FILE.fullmatch(name)


def output_call(places: WorkspacePaths, full: str) -> str | None:
    """The call whose output this file is, as far as the letters tell."""
    for guarded in places.guarded:
        found = OUTPUT.fullmatch(full.removeprefix(guarded)) if is_beneath(full, guarded) else None
        if found is not None:
            return found["call"]
    return None


def labels_of(reach: Sensitivity) -> tuple[str, ...]:
    """Of a text that was read there."""
    if reach is Sensitivity.KEYS:
        return (PRIVATE, SECRET)
    return (PRIVATE,) if reach is Sensitivity.ELSEWHERE else ()


def demand_reach(places: WorkspacePaths, named: PurePath, real: str, *, writes: bool) -> None:
    """What was opened may be no graver than what was named and judged. Raises ToolFailed."""
    asked, found = reach_of(places, str(named)), reach_of(places, real)
    if writes and (output_call(places, real) is not None or output_call(places, str(named))):
        found = Sensitivity.GUARDED
    if found is Sensitivity.GUARDED or asked is Sensitivity.GUARDED:
        raise ToolFailed(f"{named} is guarded: no tool may open it.")
    trapped = writes and _gravity(places, real) > _gravity(places, str(named))
    if found > asked or trapped:
        raise ToolFailed(f"{named} leads to {real}. Use that path instead.")


def file_finding(
    places: WorkspacePaths, facts: Mapping[str, str], path: str, *, writes: bool = False
) -> Finding:
    places = here(places, facts)
    full = lexical(places, facts, path)
    reach = reach_of(places, full)
    if reach is Sensitivity.GUARDED or (writes and output_call(places, full) is not None):
        return Finding(verdict=Deny(f"{path} is guarded: no tool may open it"))
    return _write_finding(places, path, full, reach) if writes else _read_finding(path, reach)


def _read_finding(path: str, reach: Sensitivity) -> Finding:
    if reach is Sensitivity.KEYS:
        return Finding(
            verdict=Ask(f"{named(path)} may hold keys or passwords"), capabilities=PRIVATELY
        )
    return Finding(capabilities=PRIVATELY) if reach is Sensitivity.ELSEWHERE else Finding()


def _write_finding(places: WorkspacePaths, path: str, full: str, reach: Sensitivity) -> Finding:
    in_scratch = is_in_scratch(places, full)
    if not is_beneath(full, places.root) and not in_scratch:
        return Finding(verdict=Ask(f"{named(path)} is outside the workspace"), capabilities=LASTS)
    if _runs_later(places, full):
        later = Ask(f"what is written to {named(path)} may run later")
        return Finding(verdict=later, capabilities=RUNS_LATER)
    if reach is Sensitivity.KEYS:
        return Finding(
            verdict=Ask(f"{named(path)} may hold keys or passwords"), capabilities=WRITES
        )
    if reach is not Sensitivity.WORK:
        return Finding(verdict=Ask(f"{named(path)} is a file of your own"), capabilities=LASTS)
    # A program obeys it later: after strangers' text, that is asked about.
    obeyed = is_obeyed(posixpath.relpath(full, places.scratch if in_scratch else places.root))
    return Finding(capabilities=OBEYED_LATER) if obeyed else Finding()


def files_finding(
    places: WorkspacePaths, facts: Mapping[str, str], paths: Sequence[str]
) -> Finding:
    """Of several that would be written: all that they can do, and the worst verdict."""
    return reduce(
        lambda one, other: worse(one, other, WRITES),
        [file_finding(places, facts, path, writes=True) for path in paths],
        Finding(),
    )


def worse(one: Finding, other: Finding, usual: frozenset[Capability]) -> Finding:
    """Both at once; `usual` is what a finding means that says nothing of capabilities."""
    gravity = (Allow, Ask, Deny)
    verdict = max(one.verdict, other.verdict, key=lambda verdict: gravity.index(type(verdict)))
    if one.capabilities is None and other.capabilities is None:
        return Finding(verdict=verdict)
    both = (one.capabilities or usual) | (other.capabilities or usual)
    return Finding(verdict=verdict, capabilities=both)


def _is_guarded(places: WorkspacePaths, full: str) -> bool:
    """Letter case is no way around it: some file systems do not know it."""
    for guarded in places.guarded:
        if not is_beneath(full.casefold(), guarded.casefold()):
            continue
        free = is_beneath(places.root, f"{guarded}/{WORKSPACE}") and is_beneath(full, places.root)
        if not free:
            return True
    return False


def _runs_later(places: WorkspacePaths, full: str) -> bool:
    if not is_beneath(full, places.root):
        return False
    return is_trap(posixpath.relpath(full, places.root), _place(places), places.root)


def _gravity(places: WorkspacePaths, full: str) -> int:
    """How soon a program obeys that file: never, at a command, of itself."""
    inside = is_beneath(full, places.root)
    obeyed = inside and is_obeyed(posixpath.relpath(full, places.root))
    return int(obeyed) + int(_runs_later(places, full))


def _place(places: WorkspacePaths) -> CommandPlace:
    return CommandPlace(root=places.root, cwd=places.root, home=places.home, guarded=places.guarded)
