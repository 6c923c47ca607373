"""Landlock: the kernel judges every file that is opened.

Around it namespaces, no capabilities and a filter of system calls; launch.pl does the steps that
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

from hermes.core.errors import ToolFailed
from hermes.terminals.environment import BOX_HOME, Environments
from hermes.terminals.sandbox.limits import Caps, Cgroups, limit_words
from hermes.terminals.sandbox.places import (
    DEVICES,
    SCRATCH,
    SHARED,
    Layout,
    Places,
    Shown,
    layout_of,
)
from hermes.terminals.sandbox.seccomp import INET, INET6, NETLINK, Machine, seccomp_filter
from hermes.views.sandbox import Box, Guard, Wish

LAUNCHER = Path(__file__).with_name("launch.pl")
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
NAMESPACES = NEW_MOUNTS | NEW_IPC | NEW_PIDS | NEW_NET
OWN_FOLDERS = (SCRATCH, "/var/tmp", "/dev/shm")  # noqa: S108


class Means(Struct, frozen=True, kw_only=True):
    """What this machine allows, found by trying."""

    perl: str
    machine: Machine
    namespaces: bool
    own_users: bool  # namespaces only inside one of users: we are not root


def steps(layout: Layout, shared: Shown, means: Means, caps: Caps) -> list[str]:
    """What launch.pl does, in order."""
    done: list[str] = [means.machine]
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
    done += system_rules(layout.readable, shared, means)
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
    flags = NAMESPACES | (NEW_USERS if means.own_users else 0)
    done = ["unshare", str(flags)]
    if means.own_users:
        done += ["map", str(os.geteuid()), str(os.getegid())]
    done += ["init", "private", "take", layout.workspace]
    if layout.note:
        done += ["take", layout.note]
    done += ["freeze", "/"]
    for path in _own_folders():
        done += ["tmpfs", path, f"mode=1777,size={caps.scratch_bytes}"]
    done += ["put", "folder", layout.workspace]
    if not layout.workspace_changes:  # it may lie in a folder of the box's own, where all may write
        done += ["freeze", layout.workspace]
    if layout.note:
        done += ["put", "file", layout.note]
    for path in (*shared.closed, *layout.hidden):
        done += ["hide", path]
    for path in layout.pinned:
        done += ["pin", path]
    for path in layout.locked:
        done += ["lock", path]
    return [*done, "folder", BOX_HOME, "proc", "lo"]


def _own_folders() -> tuple[str, ...]:
    return tuple(path for path in OWN_FOLDERS if Path(path).is_dir())


def _allow(rights: int, path: str) -> list[str]:
    place = Path(path)
    if not place.exists():
        return []
    return ["allow", str(rights if place.is_dir() else rights & OF_FILES), path]


class LandlockSandbox:
    """See the Sandbox port."""

    def __init__(
        self,
        places: Places,
        means: Means,
        *,
        environments: Environments,
        caps: Caps,
        cgroups: Cgroups,
    ) -> None:
        self._places = places
        self._means = means
        self._environments = environments
        self._caps = caps
        self._cgroups = cgroups
        self._limits = limit_words(caps, own_users=means.own_users)

    def box(self, wish: Wish, /) -> Box:
        groups = self._cgroups.join(wish.call)
        if wish.profile == "host":
            return Box(environment=self._environments.host, limits=self._limits, groups=groups)
        if wish.profile == "net":
            raise ToolFailed("The sandbox gives no network here. Nothing was run.")
        layout = layout_of(self._places, wish)
        entered = steps(layout, self._places.shared, self._means, self._caps)
        return Box(
            arguments=(self._means.perl, str(LAUNCHER), *entered),
            environment=self._environments.boxed,
            limits=self._limits,
            groups=groups,
        )

    def probe(self) -> tuple[Guard, ...]:
        whole = self._means.namespaces
        grouped = bool(self._cgroups.parents)
        counted = grouped or (self._means.own_users and os.geteuid() != 0)
        return (
            Guard(name="files", active=True, by="Landlock"),
            Guard(name="modes of files", active=True, by="a frozen tree" if whole else "refusal"),
            Guard(name="files that run later", active=whole, by="read-only mounts"),
            Guard(name="processes of others", active=True, by="Landlock and system call filter"),
            Guard(name="leftovers end", active=whole, by="a pid namespace"),
            Guard(name="network", active=True, by="an empty one" if whole else "no sockets"),
            Guard(name="scratch space", active=whole, by="a limited /tmp of its own"),
            Guard(name="number of processes", active=counted, by="a control group or own users"),
            Guard(name="memory of all of them", active=grouped, by="a control group"),
        )
