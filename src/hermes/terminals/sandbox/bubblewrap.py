"""bubblewrap: a file system put together of what may be seen, and namespaces around it.

`--new-session` is not needed: the wrapper has made a session without a terminal already, and inside
the same session a polite signal still reaches the command. `--die-with-parent` is right for a
detached command too, because the parent is its wrapper.
"""

import os
from pathlib import Path

from hermes.core.errors import ToolFailed
from hermes.terminals.environment import BOX_HOME, Environments
from hermes.terminals.sandbox.limits import Caps, Cgroups, limit_words
from hermes.terminals.sandbox.places import SCRATCH, SHARED, Layout, Places, layout_of
from hermes.views.sandbox import Box, Guard, Wish

ALWAYS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
    *("--disable-userns", "--cap-drop", "ALL", "--die-with-parent"),
    *("--proc", "/proc", "--dev", "/dev"),
)


def words(layout: Layout, closed: tuple[str, ...], caps: Caps) -> list[str]:
    """The arguments of bwrap up to the command."""
    said = list(ALWAYS)
    for path in (*layout.readable, SHARED):
        said += _shown(path)
    for path in closed:
        said += _hidden(path)
    for path in (SCRATCH, "/var/tmp"):  # noqa: S108
        said += ["--size", str(caps.scratch_bytes), "--perms", "1777", "--tmpfs", path]
    said += ["--dir", BOX_HOME]
    how = "--bind" if layout.workspace_changes else "--ro-bind"
    said += [how, layout.workspace, layout.workspace]
    for path in layout.hidden:
        said += _hidden(path)
    for path in layout.pinned:
        said += ["--bind", path, path]
    for path in layout.locked:
        said += ["--ro-bind", path, path]
    if layout.note:
        said += ["--bind", layout.note, layout.note]
    return [*said, "--remount-ro", "/", "--chdir", layout.workdir, "--"]


def _shown(path: str) -> list[str]:
    place = Path(path)
    if place.is_symlink():
        return ["--symlink", str(place.readlink()), path]
    return ["--ro-bind", path, path]


def _hidden(path: str) -> list[str]:
    if Path(path).is_dir():
        return ["--perms", "0555", "--tmpfs", path, "--remount-ro", path]
    return ["--ro-bind", "/dev/null", path]


class BubblewrapSandbox:
    """See the Sandbox port."""

    def __init__(
        self,
        places: Places,
        program: str,
        *,
        environments: Environments,
        caps: Caps,
        cgroups: Cgroups,
    ) -> None:
        self._places = places
        self._program = program
        self._environments = environments
        self._caps = caps
        self._cgroups = cgroups
        self._limits = limit_words(caps, own_users=True)

    def box(self, wish: Wish, /) -> Box:
        groups = self._cgroups.join(wish.call)
        if wish.profile == "host":
            limits = limit_words(self._caps, own_users=False)
            return Box(environment=self._environments.host, limits=limits, groups=groups)
        if wish.profile == "net":
            raise ToolFailed("The sandbox gives no network here. Nothing was run.")
        layout = layout_of(self._places, wish)
        return Box(
            arguments=(self._program, *words(layout, self._places.shared.closed, self._caps)),
            environment=self._environments.boxed,
            limits=self._limits,
            groups=groups,
        )

    def probe(self) -> tuple[Guard, ...]:
        grouped = bool(self._cgroups.parents)
        counted = grouped or os.geteuid() != 0
        return (
            Guard(name="files", active=True, by="bubblewrap"),
            Guard(name="modes of files", active=True, by="read-only mounts"),
            Guard(name="files that run later", active=True, by="read-only mounts"),
            Guard(name="processes of others", active=True, by="a pid namespace"),
            Guard(name="leftovers end", active=True, by="a pid namespace"),
            Guard(name="network", active=True, by="an empty one"),
            Guard(name="scratch space", active=True, by="a limited /tmp of its own"),
            Guard(name="number of processes", active=counted, by="a control group or own users"),
            Guard(name="memory of all of them", active=grouped, by="a control group"),
        )
