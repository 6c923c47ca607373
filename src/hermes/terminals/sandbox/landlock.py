"""Our own sandbox: Landlock checks every file that is opened.

Namespaces, no capabilities and a seccomp filter surround it; enter.py does the steps that are
written here.

With namespaces the box has a private root with only the visible files, so that a hidden file does
not even have a name; /tmp is private, the network is empty, and leftover processes end with the
command. As root, the box runs as another user if the workspace can be mounted as that user's.
Without namespaces, where a kernel or a container forbids them, sockets and changes of mode are
refused instead.
"""

import os
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import Box, BoxRequest, Guard
from hermes.ports.scratch import HOME, TEMPORARY, on_disk
from hermes.terminals.environment import BOX_HOME
from hermes.terminals.program import ENTER
from hermes.terminals.sandbox.bridge import bridge_steps, demanded, network_guard
from hermes.terminals.sandbox.ground import Ground, Means, shared_guards
from hermes.terminals.sandbox.idmap import BOX_USER
from hermes.terminals.sandbox.limits import Caps, limit_words, limits_guard
from hermes.terminals.sandbox.places import (
    DEVICE_LINKS,
    DEVICES,
    FLEETING,
    MASKED,
    READABLE_BY_ALL,
    SHARED,
    TERMINALS,
    Layout,
    ShownPath,
    is_below,
    is_in_scratch,
    layout_of,
    make_mount_points,
    named_user,
    outlasts,
    scratch_environment,
)
from hermes.terminals.sandbox.seccomp import INET, INET6, NETLINK, Machine, seccomp_filter

ABI_MIN = 6  # from this ABI on, signals and abstract sockets are confined too
RUN, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
CUT = 1 << 14
MAKE_DEVICES = 1 << 6 | 1 << 11
ON_DEVICES = 1 << 15
LOOK = RUN | READ | LIST
CHANGE = (1 << 16) - 1 & ~MAKE_DEVICES & ~ON_DEVICES
OF_FILES = RUN | WRITE | READ | CUT | ON_DEVICES
NEW_USERS, NEW_MOUNTS, NEW_IPC = 0x10000000, 0x20000, 0x8000000
NEW_PIDS, NEW_NET, NEW_NAMES = 0x20000000, 0x40000000, 0x4000000
MOUNTED = "read-only mounts"
OURS = "Hermes, with namespaces and Landlock"
ROOT_SIZE = "1m"  # folders to put something into
OWN = "own-"
BOX_IDS = (str(BOX_USER), str(BOX_USER))


def steps(layout: Layout, shared: ShownPath, means: Means, caps: Caps) -> list[str]:
    """Return the steps for enter.py, in order."""
    done: list[str] = []
    if means.namespaces:
        done += _namespaces(layout, shared, means, caps)
    elif layout.hidden:
        raise ToolFailed(
            f"{layout.workspace} holds secrets that cannot be hidden here: "
            "set terminal.workdir to another folder, or install bubblewrap."
        )
    done += ["enter", layout.workdir, "rules"]
    done += _workspace_rules(layout, means)
    for path in layout.written:
        done += ["allow", str(READ | WRITE | CUT), path]
    if layout.scratch and not means.namespaces:
        done += ["allow", str(CHANGE if layout.workspace_changes else LOOK), layout.scratch]
    for path in layout.shown if means.namespaces else _uncovered(layout):
        done += _allow(LOOK, path)
    done += system_rules(layout.readable, shared, means)
    done += ["split"] if means.namespaces else []
    done += bare_steps(other_user=means.other_user)
    return [*done, "seal", "filter", filter_words(means.machine, whole=means.namespaces), "--"]


def bare_steps(*, other_user: bool) -> list[str]:
    """Return the steps that drop all rights, and as root switch the user."""
    return ["uncored", *(["bare-as", *BOX_IDS] if other_user else ["bare"])]


@cache
def system_rules(readable: tuple[str, ...], shared: ShownPath, means: Means) -> tuple[str, ...]:
    """Return the rules that are the same for every command. If mounts cover the hidden parts of a
    shared folder, one rule is enough for it."""
    done: list[str] = []
    opened = (SHARED,) if means.namespaces else shared.open
    for path in (*readable, *opened, "/proc"):
        done += _allow(LOOK, path)
    for path in DEVICES:
        done += _allow(READ | WRITE, path)
    if means.namespaces:  # its entries may be listed
        done += ["allow", str(LIST), "/"]
        done += ["allow", str(READ | WRITE | LIST | ON_DEVICES), TERMINALS]
        for path in FLEETING:
            done += ["allow", str(CHANGE), path]
    return tuple(done)


@cache
def filter_words(machine: Machine, *, whole: bool) -> str:
    """Return the seccomp filter. `whole`: the box has its own network and root."""
    families = (INET, INET6, NETLINK) if whole else ()
    return seccomp_filter(machine, families=families, modes=whole).hex()


def _namespaces(layout: Layout, shared: ShownPath, means: Means, caps: Caps) -> list[str]:
    done = ["unshare", str(NEW_PIDS)]
    if means.own_users:
        done = ["unshare", str(NEW_PIDS | NEW_USERS), "map", str(os.geteuid()), str(os.getegid())]
    done += ["init", "unshare", str(NEW_MOUNTS | NEW_IPC | NEW_NET | NEW_NAMES), "private"]
    done += ["door", layout.door] if layout.door else []
    own = OWN if means.other_user else ""
    system = system_mounts(layout.readable, caps.scratch_bytes)
    done += system.taken
    for _ in TEMPORARY if layout.scratch else ():
        done += ["take", f"{own}rw", layout.scratch]
    done += ["take", f"{own}rw" if layout.workspace_changes else f"{own}ro", layout.workspace]
    for path in layout.written:
        done += ["take", f"{own}rw", path]
    for path in layout.shown:
        done += ["take", f"{own}ro", path]
    done += ["root", ROOT_SIZE, *system.put]
    for path in TEMPORARY if layout.scratch else ():
        done += ["put", "folder", path]
    done += ["put", "folder", layout.workspace]
    # As root without another user, hide what only file modes protect.
    closed = () if means.other_user else shared.closed
    done += _inside(layout, closed)
    done += ["folder", BOX_HOME]
    for path in TEMPORARY if layout.scratch and not layout.workspace_changes else ():
        done += ["still", path]
    if means.other_user:
        done += ["give", BOX_HOME, *BOX_IDS] if not layout.scratch else []
        for path, content in named_user(BOX_USER):
            done += ["replace", path, content.encode().hex()]
    masked = MASKED if os.geteuid() == 0 and not means.other_user else READABLE_BY_ALL
    done += ["proc", *(word for path in masked for word in ("mask", path))]
    done += ["leave", "lo"]
    return [*done, *bridge_steps(sealed=True)] if layout.door else done


def _inside(layout: Layout, closed: tuple[str, ...]) -> list[str]:
    """Return the mounts that cover parts of the workspace and of the system."""
    done: list[str] = []
    shown = [*layout.shown, *layout.written]
    cut = [path for path in layout.hidden if any(is_below(one, path) for one in shown)]
    for path in (*closed, *layout.hidden):
        done += ["tmpfs", path, "mode=0555,size=64k"] if path in cut else ["hide", path]
    for path in layout.written:
        done += ["put", "file", path]
    for path in layout.shown:
        done += ["put", "folder" if Path(path).is_dir() else "file", path]
    for path in cut:
        done += ["still", path]
    for path in layout.pinned:
        done += ["pin", path]
    for path in layout.locked:
        done += ["lock", path]
    for path in layout.covered:
        done += ["hide", path]
    return done


class SystemMounts(Struct, frozen=True):
    """Steps before and after the new root is entered."""

    taken: tuple[str, ...]
    put: tuple[str, ...]


@cache
def system_mounts(readable: tuple[str, ...], scratch_bytes: int) -> SystemMounts:
    """Return the mounts that are the same for every command; cached."""
    taken: list[str] = []
    put: list[str] = []
    for path in (*readable, SHARED):
        place = Path(path)
        if place.is_symlink():
            put += ["link", str(place.readlink()), path]
        else:
            taken += ["take", "ro", path]
            put += ["put", "folder", path]
    for path, target in DEVICE_LINKS.items():
        put += ["link", target, path]
    for path in (TERMINALS, *FLEETING):
        put += ["folder", path]
    names = " ".join(Path(path).name for path in DEVICES if Path(path).exists())
    put += ["devices", "/dev", names]
    for path in FLEETING:
        put += ["tmpfs", path, f"mode=1777,size={scratch_bytes}"]
    put += ["terminals", TERMINALS, "folder", "/proc"]
    return SystemMounts(tuple(taken), tuple(put))


def _workspace_rules(layout: Layout, means: Means) -> list[str]:
    """Return one rule for the workspace. If parts must be left out and no mount can cover them,
    return one rule for each of the other entries."""
    whole = CHANGE if layout.workspace_changes else LOOK
    within = [path for path in layout.covered if is_below(path, layout.workspace)]
    if means.namespaces or not within:
        return ["allow", str(whole), layout.workspace]
    if layout.workspace_changes:
        raise ToolFailed(
            f"{within[0]} cannot be hidden here from a command that may change the workspace: "
            "install bubblewrap, or run the command with the read profile."
        )
    done = ["allow", str(LIST), layout.workspace]
    for path in _beside(Path(layout.workspace), frozenset(within)):
        done += _allow(LOOK, path)
    return done


def _beside(folder: Path, covered: frozenset[str]) -> list[str]:
    """Return everything below the folder except these paths, as few paths as possible."""
    found: list[str] = []
    for entry in sorted(folder.iterdir()):
        path = str(entry)
        if entry.is_symlink() or path in covered:
            continue
        if any(is_below(one, path) for one in covered):
            found += _beside(entry, covered)
        else:
            found.append(path)
    return found


def _uncovered(layout: Layout) -> list[str]:
    """Name each visible file, for when no mount can cover the hidden ones."""
    found: list[str] = []
    for path in layout.shown:
        inside = any(is_below(one, path) for one in layout.covered)
        found += sorted(str(each) for each in Path(path).iterdir()) if inside else [path]
    return [path for path in found if path not in layout.covered]


def _allow(rights: int, path: str) -> list[str]:
    place = Path(path)
    if not place.exists():
        return []
    return ["allow", str(rights if place.is_dir() else rights & OF_FILES), path]


class LandlockSandbox:
    """Implement the Sandbox port with namespaces and Landlock, or Landlock alone."""

    def __init__(self, ground: Ground, means: Means) -> None:
        self._ground = ground
        self._means = means
        self._limits = limit_words(ground.caps, own_users=means.own_users)

    def box(self, wish: BoxRequest, /) -> Box:
        groups = self._ground.cgroups.join(wish.call)
        if wish.profile == "host":
            limits = limit_words(self._ground.caps, own_users=False, boxed=False)
            return Box(environment=self._ground.seen.host, limits=limits, groups=groups)
        layout, environment = layout_of(self._ground.places, wish), self._ground.seen.boxed
        if layout.scratch and self._means.namespaces:
            make_mount_points(layout)
            environment = {**environment, **scratch_environment(layout)}
        elif layout.scratch:  # no mount can give it another name
            if is_in_scratch(self._ground.places, wish, layout.workdir):
                layout = replace(layout, workdir=on_disk(layout.workdir, layout.scratch))
            own = {"HOME": f"{layout.scratch}/{HOME}", "TMPDIR": layout.scratch}
            environment = {**environment, **own}
        if wish.profile == "net":
            network = demanded(self._ground.network)
            layout = replace(layout, door=network.made_door())
            environment = {**environment, **network.environment}
        other = self._ground.user_of_box(self._means, layout.workspace, layout.scratch)
        means = replace(self._means, other_user=other)
        entered = steps(layout, self._ground.places.shared, means, self._ground.caps)
        return Box(
            arguments=(*ENTER, *entered),
            environment=environment,
            limits=self._limits,
            groups=groups,
            workspace=layout.workspace,
            disk_bytes=self._ground.caps.disk_bytes if layout.workspace_changes else 0,
            scratch=layout.scratch if layout.workspace_changes else "",
            scratch_bytes=self._ground.caps.scratch_bytes,
        )

    def keeps(self, folder: str, workspace: str, /) -> bool:
        return outlasts(folder, self._ground.places.root(workspace))

    def probe(self) -> tuple[Guard, ...]:
        whole = self._means.namespaces
        return (
            Guard(name="backend", active=True, by=OURS if whole else "Landlock alone"),
            Guard(name="files", active=True, by="the workspace alone can be changed"),
            Guard(name="names of hidden files", active=whole, by="a root of its own"),
            Guard(name="modes of files", active=True, by=MOUNTED if whole else "refusal"),
            Guard(name="files that run later", active=whole, by=MOUNTED),
            Guard(name="processes of others", active=True, by="Landlock and system call filter"),
            Guard(name="leftovers end", active=whole, by="a pid namespace"),
            network_guard(self._ground.network, "an empty one" if whole else "no sockets"),
            Guard(name="scratch space", active=whole, by="a limited /tmp of its own"),
            *shared_guards(self._ground, self._means),
            limits_guard(self._ground.caps),
        )
