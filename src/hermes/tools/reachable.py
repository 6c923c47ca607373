"""What a path means to the policy: whose business the file is, and what may happen to it.

The policy judges the letters before anything is touched. The same judgement is made again of the
real path of what was opened, so a link can lead to nothing worse than what was judged.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import reduce
from pathlib import Path

from hermes.core.errors import ToolFailed
from hermes.core.grants import is_beneath
from hermes.core.policy import PRIVATE, SECRET, Capability, Finding
from hermes.core.rules import Allow, Ask, Deny
from hermes.tools.paths import Places, here, lexical
from hermes.tools.shell_paths import EXAMPLE_FILE, PRIVATE_FILE, Place, Zone, is_trap, zone_of

WORKSPACE = "workspace"  # of a gateway, inside of its home: no part of what is guarded there
OUTPUT = re.compile(r"/calls/(?P<call>[A-Za-z0-9][A-Za-z0-9._-]{0,127})/output", re.ASCII)
# What was typed, passwords among it.
HISTORY = re.compile(r"\.\w*_?history|\.lesshst|\.viminfo", re.ASCII)
_C = Capability
WRITES, LASTS = frozenset({_C.WRITE}), frozenset({_C.WRITE, _C.LASTING})
RUNS_LATER = frozenset({_C.WRITE, _C.WRITE_SELF})
PRIVATELY = frozenset({_C.READ_PRIVATE})


class Reach(IntEnum):
    """The graver the later."""

    WORK = 0  # the workspace, temporary files
    SYSTEM = 1  # what everybody may know of the machine
    ELSEWHERE = 2  # the rest of the person's files
    KEYS = 3  # by its name it holds keys or passwords
    GUARDED = 4  # never: our own files, credentials, other processes


def reach_of(places: Places, full: str) -> Reach:
    """Of an absolute, normalised path, by its letters."""
    if _is_guarded(places, full) and output_call(places, full) is None:
        return Reach.GUARDED
    if output_call(places, full) is not None:
        return Reach.WORK
    name = full.rpartition("/")[2]
    if HISTORY.fullmatch(name.casefold()):
        return Reach.GUARDED
    match zone_of(full, _place(places), places.root):
        case Zone.SECRET:
            return Reach.GUARDED
        case Zone.SYSTEM:
            return Reach.SYSTEM
        case _ if PRIVATE_FILE.fullmatch(name) and not EXAMPLE_FILE.fullmatch(name):
            return Reach.KEYS
        case Zone.ELSEWHERE:
            return Reach.ELSEWHERE
        case Zone.WORK:
            return Reach.WORK


def output_call(places: Places, full: str) -> str | None:
    """The call whose output this file is, as far as the letters tell."""
    for guarded in places.guarded:
        found = OUTPUT.fullmatch(full.removeprefix(guarded)) if is_beneath(full, guarded) else None
        if found is not None:
            return found["call"]
    return None


def labels_of(reach: Reach) -> tuple[str, ...]:
    """Of a text that was read there."""
    if reach is Reach.KEYS:
        return (PRIVATE, SECRET)
    return (PRIVATE,) if reach is Reach.ELSEWHERE else ()


def demand_reach(places: Places, named: Path, real: str, *, writes: bool) -> None:
    """What was opened may be no graver than what was named and judged. Raises ToolFailed."""
    asked, found = reach_of(places, str(named)), reach_of(places, real)
    if writes and (output_call(places, real) is not None or output_call(places, str(named))):
        found = Reach.GUARDED
    if found is Reach.GUARDED or asked is Reach.GUARDED:
        raise ToolFailed(f"{named} is guarded: no tool may open it.")
    trapped = writes and _runs_later(places, real) and not _runs_later(places, str(named))
    if found > asked or trapped:
        raise ToolFailed(f"{named} leads to {real}. Name that one, so that it can be judged.")


def file_finding(
    places: Places, facts: Mapping[str, str], path: str, *, writes: bool = False
) -> Finding:
    places = here(places, facts)
    full = lexical(places, facts, path)
    reach = reach_of(places, full)
    if reach is Reach.GUARDED or (writes and output_call(places, full) is not None):
        return Finding(verdict=Deny(f"{path} is guarded: no tool may open it"))
    return _write_finding(places, path, full, reach) if writes else _read_finding(path, reach)


def _read_finding(path: str, reach: Reach) -> Finding:
    if reach is Reach.KEYS:
        return Finding(verdict=Ask(f"{path} may hold keys or passwords"), capabilities=PRIVATELY)
    return Finding(capabilities=PRIVATELY) if reach is Reach.ELSEWHERE else Finding()


def _write_finding(places: Places, path: str, full: str, reach: Reach) -> Finding:
    if not is_beneath(full, places.root) and reach is not Reach.WORK:
        return Finding(verdict=Ask(f"{path} is outside of the workspace"), capabilities=LASTS)
    if _runs_later(places, full):
        later = Ask(f"what is written to {path} may run later")
        return Finding(verdict=later, capabilities=RUNS_LATER)
    if reach is Reach.KEYS:
        return Finding(verdict=Ask(f"{path} may hold keys or passwords"), capabilities=WRITES)
    if reach is not Reach.WORK:
        return Finding(verdict=Ask(f"{path} belongs to the person"), capabilities=LASTS)
    return Finding()


def files_finding(places: Places, facts: Mapping[str, str], paths: Sequence[str]) -> Finding:
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


def _is_guarded(places: Places, full: str) -> bool:
    """Letter case is no way around it: some file systems do not know it."""
    for guarded in places.guarded:
        if not is_beneath(full.casefold(), guarded.casefold()):
            continue
        free = is_beneath(places.root, f"{guarded}/{WORKSPACE}") and is_beneath(full, places.root)
        if not free:
            return True
    return False


def _runs_later(places: Places, full: str) -> bool:
    if not is_beneath(full, places.root):
        return False
    return is_trap(posixpath.relpath(full, places.root), _place(places), places.root)


def _place(places: Places) -> Place:
    return Place(root=places.root, cwd=places.root, home=places.home, guarded=places.guarded)
