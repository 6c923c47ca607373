"""Choose the strongest sandbox that this machine can build, by trying each.

Our own comes first: namespaces, a private root, Landlock and a seccomp filter. If Landlock is
missing or only bubblewrap may create namespaces, bubblewrap builds it. Landlock without namespaces
comes last. There is no other.

A trial runs a real program in a real box. If none can be built, commands are refused; they never
run without one.
"""

import contextlib
import ctypes
import os
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import Box, BoxRequest, Guard, Sandbox
from hermes.terminals.environment import BOX_PATH, environments
from hermes.terminals.program import ENTER
from hermes.terminals.sandbox.bridge import FOLDER, Network
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.ground import Ground, Means
from hermes.terminals.sandbox.landlock import ABI_MIN, OWN, LandlockSandbox
from hermes.terminals.sandbox.limits import Caps, Cgroups, find_cgroups, limit_words
from hermes.terminals.sandbox.places import places_of
from hermes.terminals.sandbox.seccomp import TABLES
from hermes.terminals.spawn import SpawnReply, asked
from hermes.views.files import temporary_folder

CREATE_RULESET, ASK_VERSION = 444, 1
FIX = "Install bubblewrap, or set terminal.sandbox to none to run commands without a box."
FAILED = 125  # exit code of enter.py: a step failed
TRIALS_MAX = 3
TRIAL = ("sh", "-c", "echo inside")
DEFAULT_CAPS = Caps()

Trial = Callable[[Sequence[str], Mapping[str, str]], SpawnReply]


class Refusing:
    """The sandbox of a machine that can build none: it refuses every command."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = tuple(reasons)

    def box(self, _wish: BoxRequest, /) -> Box:
        why = "; ".join(self._reasons)
        raise ToolFailed(f"Sandbox unavailable ({why}). Nothing was run. {FIX}")

    def keeps(self, _folder: str, _workspace: str, /) -> bool:
        return False

    def probe(self) -> tuple[Guard, ...]:
        return tuple(Guard(name="sandbox", active=False, by=reason) for reason in self._reasons)


class Unboxed:
    """The owner turned the sandbox off; the resource limits still apply."""

    def __init__(self, environment: Mapping[str, str], caps: Caps, cgroups: Cgroups) -> None:
        self._environment = environment
        self._limits = limit_words(caps, own_users=False, boxed=False)
        self._cgroups = cgroups

    def box(self, wish: BoxRequest, /) -> Box:
        groups = self._cgroups.join(wish.call)
        return Box(environment=self._environment, limits=self._limits, groups=groups)

    def keeps(self, _folder: str, _workspace: str, /) -> bool:
        return True

    def probe(self) -> tuple[Guard, ...]:
        return (Guard(name="sandbox", active=False, by="terminal.sandbox: none"),)


class Machinery:
    """What the trials ask of this machine; tests pass a different one."""

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


class SandboxGrant(Struct, frozen=True, kw_only=True):
    """What the owner grants every box in addition to the workspace."""

    hosts: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    covered: tuple[Path, ...] = ()  # parts of the readable paths that stay hidden
    names: tuple[str, ...] = ()  # names of variables from our environment
    settled: bool = False  # the workspace comes from the settings: no chat brings its own


NO_GRANT = SandboxGrant()


def find_sandbox(
    setting: Literal["auto", "none"],
    *,
    workspace: Path,
    home: Path,
    environ: Mapping[str, str],
    grant: SandboxGrant = NO_GRANT,
    caps: Caps = DEFAULT_CAPS,
    machinery: "Machinery | None" = None,
) -> Sandbox:
    """Return the strongest sandbox that works here, for this workspace, hiding this home."""
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
        maps=FileOwners(here.trial).can_map,
    )
    reasons: dict[str, None] = {}
    for attempt in (_landlock, _bubblewrap, _plain_landlock):
        found = attempt(ground, here)
        if not isinstance(found, str):
            return found
        reasons[found] = None
    return Refusing(tuple(reasons))


def _landlock(ground: Ground, here: Machinery) -> Sandbox | str:
    """Try Landlock. As root, try without a user namespace first: only then can root's files be
    shown as another user's."""
    machine, root = platform.machine(), os.geteuid() == 0
    if machine not in TABLES or here.landlock() < ABI_MIN:
        return _lacks(here)
    tries = [Means(machine=machine, own_users=False, other_user=True)] if root else []
    found = _first(LandlockSandbox, [*tries, Means(machine=machine)], ground, here)
    return f"Landlock does not work here: {found}" if isinstance(found, str) else found


def _bubblewrap(ground: Ground, here: Machinery) -> Sandbox | str:
    program, machine, root = here.which("bwrap"), platform.machine(), os.geteuid() == 0
    if not program:
        return "bubblewrap is not installed"
    if machine not in TABLES:
        return _lacks(here)
    scopes = (True, False) if here.landlock() >= ABI_MIN else (False,)
    users = (True, False) if root else (False,)
    tries = [
        Means(machine=machine, other_user=other, scoped=scoped)
        for other in users
        for scoped in scopes
    ]

    def made(ground: Ground, means: Means) -> Sandbox:
        return BubblewrapSandbox(ground, means, program)

    found = _first(made, tries, ground, here)
    return f"bubblewrap does not work here: {found}" if isinstance(found, str) else found


def _plain_landlock(ground: Ground, here: Machinery) -> Sandbox | str:
    machine = platform.machine()
    if machine not in TABLES or here.landlock() < ABI_MIN:
        return _lacks(here)
    if ground.network is not None:
        lacks = "this machine does not allow network namespaces"
        ground = replace(ground, network=replace(ground.network, lacks=lacks))
    means = Means(machine=machine, namespaces=False, own_users=False)
    found = _first(LandlockSandbox, [means], ground, here)
    return f"Landlock does not work here: {found}" if isinstance(found, str) else found


def _lacks(here: Machinery) -> str:
    machine, abi = platform.machine(), here.landlock()
    if machine not in TABLES:
        return f"there is no filter of system calls for {machine}"
    return f"Landlock is too old or missing (version {max(abi, 0)}, {ABI_MIN} is needed)"


def _first(
    made: Callable[[Ground, Means], Sandbox],
    tries: Sequence[Means],
    ground: Ground,
    here: Machinery,
) -> Sandbox | str:
    """Return the first sandbox that works, or the error of the last one."""
    refused = ""
    for means in tries:
        refused = _tried(made, means, ground, here)
        if not refused:
            return made(ground, means)
    return refused


class FileOwners:
    """As root: which file systems support idmapped mounts for the box's user."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._known: dict[int, bool] = {}

    def can_map(self, path: str) -> bool:
        """Return True if files there can be mapped. A missing folder counts as its nearest
        parent."""
        place = next(each for each in (Path(path), *Path(path).parents) if each.exists())
        device = place.stat().st_dev
        if device not in self._known:
            take = (*ENTER, "take", f"{OWN}rw", str(place), "--", "true")
            for _ in range(TRIALS_MAX):
                code = self._trial(take, {"PATH": BOX_PATH}).code
                if code in (0, FAILED):
                    self._known[device] = code == 0
                    break  # otherwise it could not be tried: the machine is busy
        return self._known.get(device, False)


def _network(hosts: tuple[str, ...], home: Path, here: Machinery) -> Network:
    return Network(hosts=hosts, door=home / FOLDER, sealed=here.landlock() >= ABI_MIN)


def _tried(
    made: Callable[[Ground, Means], Sandbox], means: Means, ground: Ground, here: Machinery
) -> str:
    """Return "" if a program ran inside; otherwise the error. A missing workspace is replaced by
    another folder, because it says nothing about the machine."""
    with contextlib.ExitStack() as after:
        if not ground.places.workspace.is_dir():
            stand_in = after.enter_context(temporary_folder())
            places = replace(ground.places, workspace=stand_in.resolve())
            ground = replace(ground, places=places)
        try:
            box = made(ground, means).box(BoxRequest(profile="read", call="trial", workdir="/usr"))
        except ToolFailed as refused:
            return str(refused)
        answer = here.trial(box.around(TRIAL), box.environment)
    return "" if answer == SpawnReply(0, "inside\n") else answer.text.strip() or str(answer.code)


def this_machine() -> Machinery:
    return Machinery(
        which=lambda name: shutil.which(name, path=BOX_PATH) or "", landlock=landlock_version
    )


def landlock_version() -> int:
    """Return the kernel's Landlock ABI version; negative if there is none."""
    if platform.system() != "Linux":
        return -1
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(CREATE_RULESET, None, 0, ASK_VERSION))
