"""bubblewrap: a file system put together of what may be seen, and namespaces around it.

`--new-session` is not needed: the wrapper has made a session without a terminal already, and inside
the same session a polite signal still reaches the command. `--die-with-parent` is right for a
detached command too, because the parent is its wrapper.
"""

import os
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from hermes.terminals.environment import BOX_HOME
from hermes.terminals.program import ENTER
from hermes.terminals.sandbox.bridge import Network, bridge_steps, demanded, network_guard
from hermes.terminals.sandbox.ground import Ground
from hermes.terminals.sandbox.landlock import NEW_NET, NEW_USERS
from hermes.terminals.sandbox.limits import Caps, limit_words, limits_guard
from hermes.terminals.sandbox.places import SCRATCH, SHARED, Layout, layout_of, outlasts
from hermes.views.sandbox import Box, Guard, Wish

ALWAYS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    *("--disable-userns", "--cap-drop", "ALL", "--die-with-parent"),
    *("--proc", "/proc", "--dev", "/dev"),
)


def words(layout: Layout, closed: tuple[str, ...], caps: Caps) -> list[str]:
    """The arguments of bwrap up to the command."""
    said = [*ALWAYS, *([] if layout.door else ["--unshare-net"])]
    said += [*system_words(layout.readable, closed, caps.scratch_bytes)]
    how = "--bind" if layout.workspace_changes else "--ro-bind"
    said += [how, layout.workspace, layout.workspace]
    covers = [path for path in layout.hidden if Path(path).is_dir()]
    for path in layout.hidden:
        said += ["--perms", "0555", "--tmpfs", path] if path in covers else _hidden(path)
    for path in layout.shown:
        said += ["--ro-bind", path, path]
    for path in layout.covered:
        said += _hidden(path)
    if layout.note:
        said += ["--bind", layout.note, layout.note]
    for path in covers:
        said += ["--remount-ro", path]
    for path in layout.pinned:
        said += ["--bind", path, path]
    for path in layout.locked:
        said += ["--ro-bind", path, path]
    return [*said, "--remount-ro", "/", "--chdir", layout.workdir, "--"]


@cache
def system_words(
    readable: tuple[str, ...], closed: tuple[str, ...], scratch_bytes: int
) -> tuple[str, ...]:
    """What is the same for every command, looked up once."""
    said: list[str] = []
    for path in (*readable, SHARED):
        said += _shown(path)
    for path in closed:
        said += _hidden(path)
    for path in (SCRATCH, "/var/tmp"):  # noqa: S108
        said += ["--size", str(scratch_bytes), "--perms", "1777", "--tmpfs", path]
    return (*said, "--dir", BOX_HOME)


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
    """An empty network with a port that leads to the proxy; bubblewrap is then started in it."""
    own = ["unshare", str(NEW_NET)]
    if os.geteuid() != 0:
        own = ["unshare", str(NEW_NET | NEW_USERS), "map", str(os.geteuid()), str(os.getegid())]
    return (*own, "lo", "door", door, *bridge_steps(sealed=network.sealed), "--")


class BubblewrapSandbox:
    """See the Sandbox port."""

    def __init__(self, ground: Ground, program: str) -> None:
        self._ground = ground
        self._program = program
        self._limits = limit_words(ground.caps, own_users=True)

    def box(self, wish: Wish, /) -> Box:
        groups = self._ground.cgroups.join(wish.call)
        if wish.profile == "host":
            limits = limit_words(self._ground.caps, own_users=False)
            return Box(environment=self._ground.seen.host, limits=limits, groups=groups)
        layout = layout_of(self._ground.places, wish)
        environment = self._ground.seen.boxed
        network_first: tuple[str, ...] = ()
        if wish.profile == "net":
            network = demanded(self._ground.network)
            layout = replace(layout, door=network.made_door())
            environment = {**environment, **network.environment}
            network_first = (*ENTER, *_network_steps(network, layout.door))
        said = words(layout, self._ground.places.shared.closed, self._ground.caps)
        return Box(
            arguments=(*network_first, self._program, *said),
            environment=environment,
            limits=self._limits,
            groups=groups,
        )

    def keeps(self, folder: str, workspace: str, /) -> bool:
        return outlasts(folder, self._ground.places.root(workspace))

    def probe(self) -> tuple[Guard, ...]:
        grouped = bool(self._ground.cgroups.parents)
        counted = grouped or os.geteuid() != 0
        return (
            Guard(name="backend", active=True, by="bubblewrap"),
            Guard(name="files", active=True, by="the workspace alone can be changed"),
            Guard(name="modes of files", active=True, by="read-only mounts"),
            Guard(name="files that run later", active=True, by="read-only mounts"),
            Guard(name="processes of others", active=True, by="a pid namespace"),
            Guard(name="leftovers end", active=True, by="a pid namespace"),
            network_guard(self._ground.network),
            Guard(name="scratch space", active=True, by="a limited /tmp of its own"),
            Guard(name="number of processes", active=counted, by="a control group or own users"),
            Guard(name="memory of all of them", active=grouped, by="a control group"),
            limits_guard(self._ground.caps),
        )
