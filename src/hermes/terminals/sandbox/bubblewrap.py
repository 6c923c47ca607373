"""bubblewrap: build a file system of what may be seen, inside namespaces.

It uses the same seccomp filter as our own box, and Landlock for signals and sockets where the
kernel supports that. Files are confined by mounts alone, because Landlock would have to be applied
after the last mount. As root, bwrap is started by the box's own user, from a stage: mounts of the
workspace and the like that this user owns and can reach.

`--new-session` is not needed: the wrapper has already created a session without a terminal, and
inside it SIGTERM still reaches the command. `--die-with-parent` is right for a detached command
too, because its parent is the wrapper.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from hermes.ports.sandbox import Box, BoxRequest, Guard
from hermes.ports.scratch import SCRATCH, TEMPORARY
from hermes.terminals.environment import BOX_HOME
from hermes.terminals.program import ENTER
from hermes.terminals.sandbox.bridge import Network, bridge_steps, demanded, network_guard
from hermes.terminals.sandbox.ground import Ground, Means, shared_guards
from hermes.terminals.sandbox.idmap import BOX_USER
from hermes.terminals.sandbox.landlock import (
    BOX_IDS,
    NEW_MOUNTS,
    NEW_NET,
    NEW_USERS,
    OWN,
    ROOT_SIZE,
    filter_words,
)
from hermes.terminals.sandbox.limits import Caps, limit_words, limits_guard
from hermes.terminals.sandbox.places import (
    FLEETING,
    MASKED,
    READABLE_BY_ALL,
    SHARED,
    Layout,
    is_below,
    layout_of,
    make_mount_points,
    named_user,
    outlasts,
    scratch_environment,
)

FILTER_FILE = "10"  # the file descriptor of the filter
NAMES_FROM = 11  # the descriptors after it: the names of users and groups
STAGE = SCRATCH
ALWAYS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    *("--disable-userns", "--cap-drop", "ALL", "--die-with-parent"),
    *("--seccomp", FILTER_FILE, "--proc", "/proc", "--dev", "/dev"),
)


def staged(layout: Layout) -> dict[str, str]:
    """Map paths in the box to paths on the stage, where the box's user can reach root's files."""
    scratch = (layout.scratch,) if layout.scratch else ()
    paths = (layout.workspace, *layout.written, *scratch, *layout.shown)
    return {path: f"{STAGE}/{number}" for number, path in enumerate(dict.fromkeys(paths))}


def stage_steps(layout: Layout, stage: Mapping[str, str]) -> list[str]:
    """Return the steps that mount the stage and switch to the box's user."""
    done = ["unshare", str(NEW_MOUNTS), "private"]
    for path in stage:
        changes = path in (*layout.written, layout.scratch)
        changes = changes or (path == layout.workspace and layout.workspace_changes)
        done += ["take", f"{OWN}rw" if changes else f"{OWN}ro", path]
    done += ["tmpfs", STAGE, f"mode=0755,size={ROOT_SIZE}"]
    for path, source in stage.items():
        done += ["put", "folder" if Path(path).is_dir() else "file", source]
    for number, (_, content) in enumerate(named_user(BOX_USER), NAMES_FROM):
        done += ["file", str(number), content.encode().hex()]
    return [*done, "enter", "/", "as", *BOX_IDS]


def words(
    layout: Layout, closed: tuple[str, ...], caps: Caps, stage: Mapping[str, str] | None = None
) -> list[str]:
    """Return the arguments of bwrap up to the command."""
    sources = stage or {}

    def bound(how: str, path: str) -> list[str]:
        return [how, _source(path, layout.workspace, sources), path]

    said = [*ALWAYS, *([] if layout.door else ["--unshare-net"])]
    said += [*system_words(layout.readable, closed, caps.scratch_bytes)]
    for number, (path, _) in enumerate(named_user(BOX_USER) if sources else (), NAMES_FROM):
        said += ["--perms", "0644", "--ro-bind-data", str(number), path]
    for path in TEMPORARY if layout.scratch else ():
        said += ["--bind", sources.get(layout.scratch, layout.scratch), path]
    said += bound("--bind" if layout.workspace_changes else "--ro-bind", layout.workspace)
    covers = [path for path in layout.hidden if Path(path).is_dir()]
    for path in layout.hidden:
        said += ["--perms", "0555", "--tmpfs", path] if path in covers else _hidden(path)
    for path in layout.shown:
        said += bound("--ro-bind", path)
    for path in layout.written:
        said += bound("--bind", path)
    for path in covers:
        said += ["--remount-ro", path]
    for path in layout.pinned:
        said += bound("--bind", path)
    for path in layout.locked:
        said += bound("--ro-bind", path)
    for path in layout.covered:  # last, because pinned and locked paths are mounted again
        said += _hidden(path)
    if layout.scratch and not layout.workspace_changes:
        said += [word for path in TEMPORARY for word in ("--remount-ro", path)]
    return [*said, "--remount-ro", "/", "--chdir", layout.workdir, "--"]


def _source(path: str, workspace: str, stage: Mapping[str, str]) -> str:
    if path in stage:
        return stage[path]
    if workspace in stage and is_below(path, workspace):
        return stage[workspace] + path.removeprefix(workspace)
    return path


@cache
def system_words(
    readable: tuple[str, ...], closed: tuple[str, ...], scratch_bytes: int
) -> tuple[str, ...]:
    """Return the arguments that are the same for every command; cached."""
    said: list[str] = []
    for path in (*readable, SHARED):
        said += _shown(path)
    for path in closed:
        said += _hidden(path) if Path(path).exists() else []
    for path in FLEETING:
        said += ["--size", str(scratch_bytes), "--perms", "1777", "--tmpfs", path]
    return (*said, "--remount-ro", "/proc", "--remount-ro", "/dev", "--dir", BOX_HOME)


def _shown(path: str) -> list[str]:
    place = Path(path)
    if place.is_symlink():
        return ["--symlink", str(place.readlink()), path]
    return ["--ro-bind", path, path]


def _hidden(path: str) -> list[str]:
    if Path(path).is_dir():
        return ["--perms", "0555", "--tmpfs", path, "--remount-ro", path]
    return ["--ro-bind", "/dev/null", path]


def _network_steps(network: Network, door: str) -> tuple[str, ...]:
    """Return the steps that create an empty network with a port to the proxy; bwrap starts in
    it."""
    own = ["unshare", str(NEW_NET)]
    if os.geteuid() != 0:
        own = ["unshare", str(NEW_NET | NEW_USERS), "map", str(os.geteuid()), str(os.getegid())]
    return (*own, "lo", "door", door, *bridge_steps(sealed=network.sealed))


class BubblewrapSandbox:
    """Implement the Sandbox port with bubblewrap."""

    def __init__(self, ground: Ground, means: Means, program: str) -> None:
        self._ground = ground
        self._program = program
        self._means = means
        self._limits = limit_words(ground.caps, own_users=True)

    def box(self, wish: BoxRequest, /) -> Box:
        groups = self._ground.cgroups.join(wish.call)
        if wish.profile == "host":
            limits = limit_words(self._ground.caps, own_users=False, boxed=False)
            return Box(environment=self._ground.seen.host, limits=limits, groups=groups)
        layout = layout_of(self._ground.places, wish)
        environment = self._ground.seen.boxed
        first: list[str] = []
        if wish.profile == "net":
            network = demanded(self._ground.network)
            layout = replace(layout, door=network.made_door())
            environment = {**environment, **network.environment}
            first += _network_steps(network, layout.door)
        if layout.scratch:
            make_mount_points(layout)
            environment = {**environment, **scratch_environment(layout)}
        other_user = self._ground.user_of_box(self._means, layout.workspace, layout.scratch)
        stage = staged(layout) if other_user else {}
        first += stage_steps(layout, stage) if other_user else []
        first += ["scope"] if self._means.scoped else []
        first += ["uncored", "file", FILTER_FILE, filter_words(self._means.machine, whole=True)]
        kept_root = os.geteuid() == 0 and not other_user  # file modes do not stop root
        closed = (*MASKED, *self._ground.places.shared.closed) if kept_root else READABLE_BY_ALL
        said = words(layout, closed, self._ground.caps, stage)
        return Box(
            arguments=(*ENTER, *first, "--", self._program, *said),
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
        return (
            Guard(name="backend", active=True, by="bubblewrap"),
            Guard(name="files", active=True, by="the workspace alone can be changed"),
            Guard(name="names of hidden files", active=True, by="a root of its own"),
            Guard(name="modes of files", active=True, by="read-only mounts"),
            Guard(name="files that run later", active=True, by="read-only mounts"),
            Guard(name="processes of others", active=True, by="a pid namespace"),
            Guard(name="leftovers end", active=True, by="a pid namespace"),
            network_guard(self._ground.network),
            Guard(name="scratch space", active=True, by="a limited /tmp of its own"),
            *shared_guards(self._ground, self._means),
            limits_guard(self._ground.caps),
        )
