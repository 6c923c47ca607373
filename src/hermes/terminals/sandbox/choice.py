"""Which box this machine can build, found by trying each: bubblewrap, then Landlock, else none.

A trial is a real box around a real program. What cannot be built is refused, never left out.
"""

import contextlib
import ctypes
import os
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.terminals.environment import BOX_PATH, environments
from hermes.terminals.sandbox.bridge import FOLDER, Network
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.ground import Ground
from hermes.terminals.sandbox.landlock import ABI_MIN, LandlockSandbox, Means
from hermes.terminals.sandbox.limits import Caps, Cgroups, find_cgroups, limit_words
from hermes.terminals.sandbox.places import places_of
from hermes.terminals.sandbox.seccomp import TABLES
from hermes.terminals.spawn import Answer, asked
from hermes.views.rare import temporary_folder
from hermes.views.sandbox import Box, Guard, Sandbox, Wish

CREATE_RULESET, ASK_VERSION = 444, 1
FIX = "Install bubblewrap, or set terminal.sandbox to none to run commands without a box."
TRIAL = ("sh", "-c", "echo inside")
DEFAULT_CAPS = Caps()

Trial = Callable[[Sequence[str], Mapping[str, str]], Answer]


class Refusing:
    """No box can be built here: nothing runs."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = tuple(reasons)

    def box(self, _wish: Wish, /) -> Box:
        why = "; ".join(self._reasons)
        raise ToolFailed(f"Sandbox unavailable ({why}). Nothing was run. {FIX}")

    def keeps(self, _folder: str, _workspace: str, /) -> bool:
        return False

    def probe(self) -> tuple[Guard, ...]:
        return tuple(Guard(name="sandbox", active=False, by=reason) for reason in self._reasons)


class Unboxed:
    """The owner chose to run commands without a box; the limits hold all the same."""

    def __init__(self, environment: Mapping[str, str], caps: Caps, cgroups: Cgroups) -> None:
        self._environment = environment
        self._limits = limit_words(caps, own_users=False)
        self._cgroups = cgroups

    def box(self, wish: Wish, /) -> Box:
        groups = self._cgroups.join(wish.call)
        return Box(environment=self._environment, limits=self._limits, groups=groups)

    def keeps(self, _folder: str, _workspace: str, /) -> bool:
        return True

    def probe(self) -> tuple[Guard, ...]:
        return (Guard(name="sandbox", active=False, by="terminal.sandbox is none"),)


class Machinery:
    """What the trials ask this machine; a test gives them another one."""

    def __init__(
        self,
        *,
        which: Callable[[str], str],
        landlock: Callable[[], int],
        trial: Trial = asked,
        cgroups: Callable[[Caps], Cgroups] = find_cgroups,
    ) -> None:
        self.which = which
        self.landlock = landlock
        self.trial = trial
        self.cgroups = cgroups


class Grant(Struct, frozen=True, kw_only=True):
    """What the owner lets every box have beyond the workspace."""

    hosts: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    covered: tuple[Path, ...] = ()  # parts of what is readable that are not
    names: tuple[str, ...] = ()  # of variables of our environment
    settled: bool = False  # the workspace is the owner's setting: no chat brings another one


NO_GRANT = Grant()


def find_sandbox(
    setting: Literal["auto", "none"],
    *,
    workspace: Path,
    home: Path,
    environ: Mapping[str, str],
    grant: Grant = NO_GRANT,
    caps: Caps = DEFAULT_CAPS,
    machinery: "Machinery | None" = None,
) -> Sandbox:
    """The strongest box that works here, around this workspace, hiding this home."""
    here = machinery or this_machine()
    seen = environments(environ, grant.names)
    cgroups = here.cgroups(caps)
    if setting == "none":
        return Unboxed(seen.host, caps, cgroups)
    ground = Ground(
        places=replace(
            places_of(workspace, home, grant.readable),
            covered=tuple(str(path) for path in grant.covered),
            settled=grant.settled,
        ),
        seen=seen,
        caps=caps,
        cgroups=cgroups,
        network=_network(grant.hosts, home, here),
    )
    reasons: list[str] = []
    for attempt in (_bubblewrap, _landlock):
        found = attempt(ground, here)
        if not isinstance(found, str):
            return found
        reasons.append(found)
    return Refusing(reasons)


def _bubblewrap(ground: Ground, here: Machinery) -> Sandbox | str:
    program = here.which("bwrap")
    if not program:
        return "bubblewrap is not installed"
    refused = _tried(lambda found: BubblewrapSandbox(found, program), ground, here)
    if refused:
        return f"bubblewrap does not work here: {refused}"
    return BubblewrapSandbox(ground, program)


def _landlock(ground: Ground, here: Machinery) -> Sandbox | str:
    machine, abi = platform.machine(), here.landlock()
    if abi < ABI_MIN:
        return f"Landlock is too old or missing (version {max(abi, 0)}, {ABI_MIN} is needed)"
    if machine not in TABLES:
        return f"Landlock is not prepared for {machine}"
    refused = ""
    for namespaces, own_users in ((True, os.geteuid() != 0), (True, True), (False, False)):
        means = Means(machine=machine, namespaces=namespaces, own_users=own_users)
        made = partial(_landlock_box, means)
        refused = _tried(made, ground, here)
        if not refused:
            return made(ground)
    return f"Landlock does not work here: {refused}"


def _landlock_box(means: Means, ground: Ground) -> Sandbox:
    if ground.network is not None and not means.namespaces:
        lacks = "this machine lets nobody have a network of its own"
        ground = replace(ground, network=replace(ground.network, lacks=lacks))
    return LandlockSandbox(ground, means)


def _network(hosts: tuple[str, ...], home: Path, here: Machinery) -> Network:
    return Network(hosts=hosts, door=home / FOLDER, sealed=here.landlock() >= ABI_MIN)


def _tried(made: Callable[[Ground], Sandbox], ground: Ground, here: Machinery) -> str:
    """Empty when a program ran inside; otherwise what was said instead. A workspace that is not
    there yet says nothing about this machine: another folder stands in for it."""
    with contextlib.ExitStack() as after:
        if not ground.places.workspace.is_dir():
            stand_in = after.enter_context(temporary_folder())
            places = replace(ground.places, workspace=stand_in.resolve())
            ground = replace(ground, places=places)
        try:
            box = made(ground).box(Wish(profile="read", call="trial", workdir="/usr"))
        except ToolFailed as refused:
            return str(refused)
        answer = here.trial(box.around(TRIAL), box.environment)
    return "" if answer == Answer(0, "inside\n") else answer.text.strip() or str(answer.code)


def this_machine() -> Machinery:
    return Machinery(
        which=lambda name: shutil.which(name, path=BOX_PATH) or "", landlock=landlock_version
    )


def landlock_version() -> int:
    """Of the kernel's Landlock; negative when there is none."""
    if platform.system() != "Linux":
        return -1
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(CREATE_RULESET, None, 0, ASK_VERSION))
