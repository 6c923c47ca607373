"""Landlock: the kernel judges every file that is opened.

Around it namespaces, no capabilities and a filter of system calls; enter.py does the steps that
are written here.

With namespaces the whole tree of files is frozen as well (Landlock does not judge a change of
mode), /tmp is the box's own, the network is an empty one and what is left over ends with the
command. Without them, where a kernel or a container forbids them, sockets and changes of mode are
refused instead.
"""

import os
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.terminals.environment import BOX_HOME
from hermes.terminals.program import ENTER
from hermes.terminals.sandbox.bridge import bridge_steps, demanded, network_guard
from hermes.terminals.sandbox.ground import Ground
from hermes.terminals.sandbox.limits import Caps, limit_words, limits_guard
from hermes.terminals.sandbox.places import (
    DEVICES,
    FLEETING,
    SHARED,
    Layout,
    Shown,
    is_below,
    layout_of,
    outlasts,
)
from hermes.terminals.sandbox.seccomp import INET, INET6, NETLINK, Machine, seccomp_filter
from hermes.views.sandbox import Box, Guard, Wish

ABI_MIN = 6  # from here on signals and abstract sockets are judged too
RUN, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
CUT = 1 << 14
MAKE_DEVICES = 1 << 6 | 1 << 11
ON_DEVICES = 1 << 15
LOOK = RUN | READ | LIST
CHANGE = (1 << 16) - 1 & ~MAKE_DEVICES & ~ON_DEVICES
OF_FILES = RUN | WRITE | READ | CUT | ON_DEVICES
NEW_USERS, NEW_MOUNTS, NEW_IPC = 0x10000000, 0x20000, 0x8000000
NEW_PIDS, NEW_NET = 0x20000000, 0x40000000


class Means(Struct, frozen=True, kw_only=True):
    """What this machine allows, found by trying."""

    machine: Machine
    namespaces: bool
    own_users: bool  # namespaces only inside one of users: we are not root


def steps(layout: Layout, shared: Shown, means: Means, caps: Caps) -> list[str]:
    """What enter.py does, in order."""
    done: list[str] = []
    if means.namespaces:
        done += _namespaces(layout, shared, means, caps)
    elif layout.hidden:
        raise ToolFailed(
            f"{layout.workspace} holds secrets that cannot be hidden here: "
            "set terminal.workdir to another folder, or install bubblewrap."
        )
    done += ["enter", layout.workdir, "rules"]
    whole = CHANGE if layout.workspace_changes else LOOK
    done += ["allow", str(whole), layout.workspace]
    if layout.note:
        done += ["allow", str(READ | WRITE | CUT), layout.note]
    for path in layout.shown if means.namespaces else _uncovered(layout):
        done += _allow(LOOK, path)
    done += system_rules(layout.readable, shared, means)
    done += ["split"] if means.namespaces else []
    return [*done, "bare", "seal", "filter", filter_words(means), "--"]


@cache
def system_rules(readable: tuple[str, ...], shared: Shown, means: Means) -> tuple[str, ...]:
    """The rules that are the same for every command. Where the closed part of a shared folder is
    covered by mounts, one rule is enough for it."""
    done: list[str] = []
    opened = (SHARED,) if means.namespaces else shared.open
    for path in (*readable, *opened, "/proc"):
        done += _allow(LOOK, path)
    for path in DEVICES:
        done += _allow(READ | WRITE, path)
    for path in _own_folders() if means.namespaces else ():
        done += ["allow", str(CHANGE), path]
    return tuple(done)


@cache
def filter_words(means: Means) -> str:
    families = (INET, INET6, NETLINK) if means.namespaces else ()
    return seccomp_filter(means.machine, families=families, modes=means.namespaces).hex()


def _namespaces(layout: Layout, shared: Shown, means: Means, caps: Caps) -> list[str]:
    done = ["unshare", str(NEW_PIDS)]
    if means.own_users:
        done = ["unshare", str(NEW_PIDS | NEW_USERS), "map", str(os.geteuid()), str(os.getegid())]
    done += ["init", "unshare", str(NEW_MOUNTS | NEW_IPC | NEW_NET)]
    done += ["private", "take", layout.workspace]
    if layout.note:
        done += ["take", layout.note]
    done += ["freeze", "/"]
    done += ["door", layout.door] if layout.door else []
    own = _own_folders()
    covers = (*own, *layout.hidden)  # something of the box's own stands there
    moved = [path for path in layout.shown if any(is_below(path, cover) for cover in covers)]
    for path in moved:  # frozen now, as everything
        done += ["take", path]
    for path in own:
        done += ["tmpfs", path, f"mode=1777,size={caps.scratch_bytes}"]
    done += ["put", "folder", layout.workspace]
    if not layout.workspace_changes:  # it may lie in a folder of the box's own, where all may write
        done += ["freeze", layout.workspace]
    inside = [*moved, layout.note] if layout.note else moved
    cut = [path for path in layout.hidden if any(is_below(one, path) for one in inside)]
    for path in (*shared.closed, *layout.hidden):
        done += ["tmpfs", path, "mode=0555,size=64k"] if path in cut else ["hide", path]
    done += ["put", "file", layout.note] if layout.note else []
    for path in moved:
        done += ["put", "folder" if Path(path).is_dir() else "file", path]
    for path in layout.covered:
        done += ["hide", path]
    for path in cut:
        done += ["still", path]
    for path in layout.pinned:
        done += ["pin", path]
    for path in layout.locked:
        done += ["lock", path]
    done += ["folder", BOX_HOME, "proc", "lo"]
    return [*done, *bridge_steps(sealed=True)] if layout.door else done


def _uncovered(layout: Layout) -> list[str]:
    """Where nothing can be put in front of a file, each that may be seen is named."""
    found: list[str] = []
    for path in layout.shown:
        inside = any(is_below(one, path) for one in layout.covered)
        found += sorted(str(each) for each in Path(path).iterdir()) if inside else [path]
    return [path for path in found if path not in layout.covered]


def _own_folders() -> tuple[str, ...]:
    return tuple(path for path in FLEETING if Path(path).is_dir())


def _allow(rights: int, path: str) -> list[str]:
    place = Path(path)
    if not place.exists():
        return []
    return ["allow", str(rights if place.is_dir() else rights & OF_FILES), path]


class LandlockSandbox:
    """See the Sandbox port."""

    def __init__(self, ground: Ground, means: Means) -> None:
        self._ground = ground
        self._means = means
        self._limits = limit_words(ground.caps, own_users=means.own_users)

    def box(self, wish: Wish, /) -> Box:
        groups = self._ground.cgroups.join(wish.call)
        if wish.profile == "host":
            return Box(environment=self._ground.seen.host, limits=self._limits, groups=groups)
        layout, environment = layout_of(self._ground.places, wish), self._ground.seen.boxed
        if wish.profile == "net":
            network = demanded(self._ground.network)
            layout = replace(layout, door=network.made_door())
            environment = {**environment, **network.environment}
        entered = steps(layout, self._ground.places.shared, self._means, self._ground.caps)
        return Box(
            arguments=(*ENTER, *entered),
            environment=environment,
            limits=self._limits,
            groups=groups,
        )

    def keeps(self, folder: str, workspace: str, /) -> bool:
        return outlasts(folder, self._ground.places.root(workspace))

    def probe(self) -> tuple[Guard, ...]:
        whole = self._means.namespaces
        grouped = bool(self._ground.cgroups.parents)
        counted = grouped or (self._means.own_users and os.geteuid() != 0)
        return (
            Guard(name="backend", active=True, by="Landlock"),
            Guard(name="files", active=True, by="the workspace alone can be changed"),
            Guard(name="modes of files", active=True, by="a frozen tree" if whole else "refusal"),
            Guard(name="files that run later", active=whole, by="read-only mounts"),
            Guard(name="processes of others", active=True, by="Landlock and system call filter"),
            Guard(name="leftovers end", active=whole, by="a pid namespace"),
            network_guard(self._ground.network, "an empty one" if whole else "no sockets"),
            Guard(name="scratch space", active=whole, by="a limited /tmp of its own"),
            Guard(name="number of processes", active=counted, by="a control group or own users"),
            Guard(name="memory of all of them", active=grouped, by="a control group"),
            limits_guard(self._ground.caps),
        )
