"""Decide what a box can see: an allow-list of the system, the workspace, nothing of Hermes.

As root, file modes protect nothing, so only the world-readable part of /etc is shown then.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import BoxRequest
from hermes.ports.scratch import SCRATCH, TEMPORARY, is_scratch, on_disk
from hermes.terminals.environment import BOX_HOME
from hermes.terminals.sandbox.traps import Guarded, guarded_in

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
SHARED = "/etc"
KERNEL = ("/sys/devices/system",)  # the number of processors
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
TERMINALS = "/dev/pts"  # private to the box
DEVICE_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/dev/ptmx": "pts/ptmx",
}
# Files about the whole machine; in a box they are empty, if the kernel has them. All but the
# first are readable by root only.
READABLE_BY_ALL = ("/proc/keys", "/proc/key-users")
MASKED = (
    *READABLE_BY_ALL,
    *("/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/sysrq-trigger", "/proc/timer_list"),
)
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a file system of the box
# Gone with each command, but for a scratch place that is mounted over the first two.
FLEETING = (*TEMPORARY, SHARED_MEMORY)
ALWAYS_THERE = ("/", "/proc", "/dev", *FLEETING)
WORKSPACE = "workspace"  # the only visible folder of our home
ENTRIES_MAX = 50_000


class Layout(Struct, frozen=True, kw_only=True):
    """The paths of one box. Later ones cover earlier ones."""

    readable: tuple[str, ...]
    workspace: str
    workspace_changes: bool
    pinned: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # read-only, on top of everything, even of hidden paths
    covered: tuple[str, ...] = ()  # hidden parts of those
    note: str = ""
    scratch: str = ""  # shown as /tmp; "": that is empty, and gone with the command
    pipes: tuple[str, ...] = ()  # outside of the workspace, for reading and writing
    door: str = ""  # the folder with the proxy's socket, if there is a network
    workdir: str

    @property
    def written(self) -> tuple[str, ...]:
        """Return the single files outside of the workspace that the command may write to."""
        return (*((self.note,) if self.note else ()), *self.pipes)


class ShownPath(Struct, frozen=True):
    """A folder of the system, split into its world-readable part and the rest."""

    open: tuple[str, ...]
    closed: tuple[str, ...]


def survey(root: str) -> ShownPath:
    """Split a folder, with one entry for a whole subtree if possible, so that a box needs few
    rules."""
    opened, closed, _ = _divided(Path(root), ENTRIES_MAX)
    return ShownPath(tuple(sorted(opened)), tuple(sorted(closed)))


def _divided(place: Path, left: int) -> tuple[list[str], list[str], int]:
    try:
        entry = place.lstat()
    except OSError:
        return [], [], left
    left -= 1
    if stat.S_ISLNK(entry.st_mode):  # its target has a rule of its own, or stays hidden
        return [], [], left
    folder = stat.S_ISDIR(entry.st_mode)
    wanted = 0o005 if folder else 0o004
    if entry.st_mode & wanted != wanted or left <= 0:
        return [], [str(place)], left
    if not folder:
        return ([str(place)] if stat.S_ISREG(entry.st_mode) else []), [], left
    opened: list[str] = []
    closed: list[str] = []
    for entry_inside in sorted(place.iterdir()):
        more, less, left = _divided(entry_inside, left)
        opened += more
        closed += less
    return (opened if closed else [str(place)]), closed, left


class SandboxPaths(Struct, frozen=True, kw_only=True):
    """The paths that stay the same for all commands of a gateway."""

    workspace: Path
    home: Path  # ours: secrets, policy, database, pairing, skills
    person: Path  # home folder of our account
    readable: tuple[str, ...] = ()  # the system
    shown: tuple[str, ...] = ()  # further readable paths: programs of skills
    covered: tuple[str, ...] = ()  # except these
    shared: ShownPath
    settled: bool = False

    def root(self, chosen: str) -> Path:
        """Return the workspace of one command: the owner's chat may have brought its own."""
        return self.workspace if self.settled or not chosen else Path(chosen).resolve()


def places_of(workspace: Path, home: Path, shown: Iterable[Path] = ()) -> SandboxPaths:
    shared = survey(SHARED) if os.geteuid() == 0 else ShownPath((SHARED,), ())
    return SandboxPaths(
        workspace=workspace.resolve(),
        home=home.resolve(),
        person=Path.home().resolve(),
        readable=tuple(path for path in (*SYSTEM, *KERNEL) if Path(path).exists()),
        shown=tuple(str(path) for path in shown),
        shared=shared,
    )


@cache
def named_user(user: int) -> tuple[tuple[str, str], ...]:
    """Return passwd and group files that name the user of a box: path, content."""
    lines = {
        "/etc/passwd": f"agent:x:{user}:{user}:Hermes:{BOX_HOME}:/bin/sh\n",
        "/etc/group": f"agent:x:{user}:\n",
    }
    found: list[tuple[str, str]] = []
    for path, line in lines.items():
        with suppress(OSError, UnicodeDecodeError):
            found.append((path, Path(path).read_text("utf-8") + line))
    return tuple(found)


def is_below(path: str, folder: str) -> bool:
    """Return True for the folder itself or a path in it. Both are normalised by Path, so comparing
    text is enough; a box asks this a hundred times."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def outlasts(folder: str, workspace: Path) -> bool:
    """Return True if the folder, as a command saw it, still exists after the box."""
    place = Path(folder)
    if place.is_relative_to(workspace):
        return True
    return not any(place.is_relative_to(path) for path in FLEETING)


def layout_of(places: SandboxPaths, wish: BoxRequest) -> Layout:
    """Return the layout. Raise ToolFailed if the workspace cannot be shown without hidden paths."""
    places = replace(places, workspace=places.root(wish.workspace))
    _demand_room(places)
    hidden = _inside(places)
    shown = _shown(places, wish, hidden)
    workdir = _workdir(places, wish)
    if not is_in_scratch(places, wish, workdir):
        _demand_visible(places, shown, workdir)
    root, changes = str(places.workspace), wish.profile != "read"
    guarded = guarded_in(root, frozenset(hidden)) if changes else Guarded()
    return Layout(
        readable=places.readable,
        workspace=root,
        workspace_changes=changes,
        pinned=guarded.pinned,
        locked=guarded.locked,
        hidden=hidden,
        shown=shown,
        covered=_covered(places, wish, hidden),
        note=wish.note,
        scratch=wish.scratch,
        pipes=wish.pipes,
        workdir=workdir,
    )


def _workdir(places: SandboxPaths, wish: BoxRequest) -> str:
    """Of a path in the scratch place, the machine's own /tmp says nothing."""
    inside = is_in_scratch(places, wish, wish.workdir)
    return wish.workdir if inside else os.path.realpath(wish.workdir)


def is_in_scratch(places: SandboxPaths, wish: BoxRequest, path: str) -> bool:
    """Return True for a path of the scratch place, as a command names it."""
    ours = (str(places.root(wish.workspace)), str(places.home), str(places.person))
    return bool(wish.scratch) and is_scratch(path) and not _beneath(path, ours)


def scratch_environment(layout: Layout) -> dict[str, str]:
    """Where programs put temporary files: a command that may change nothing has a folder of its own
    for them, which is gone with it."""
    return {} if layout.workspace_changes else {"TMPDIR": SHARED_MEMORY}


def make_mount_points(layout: Layout) -> None:
    """Where the workspace or another visible path lies below /tmp, a scratch place needs a folder
    to put it on. Raise ToolFailed if it cannot be made."""
    paths = (layout.workspace, layout.note, *layout.shown)
    try:
        for path in (each for each in paths if each and is_scratch(each)):
            point = Path(on_disk(path, layout.scratch))
            folder = point if Path(path).is_dir() else point.parent
            for each in (*reversed(folder.parents), folder):
                if is_below(str(each), layout.scratch):
                    each.mkdir(mode=0o700, exist_ok=True)
            if folder is not point:
                point.touch(0o600)
    except OSError as refused:
        raise ToolFailed(f"The scratch place cannot be shown: {refused}.") from refused


def _covered(places: SandboxPaths, wish: BoxRequest, hidden: tuple[str, ...]) -> tuple[str, ...]:
    """Return the real paths to cover, so that a link to a private file leads to a covered one. A
    path below another covered or hidden one is left out."""
    root = str(places.workspace)
    wanted = sorted({os.path.realpath(path) for path in wish.covered})
    private: list[str] = []
    for path in wanted:
        inside = path != root and is_below(path, root)
        if inside and _is_plain(path) and not _beneath(path, (*hidden, *private)):
            private.append(path)
    return (*(path for path in places.covered if _is_plain(path)), *private)


def _shown(places: SandboxPaths, wish: BoxRequest, hidden: tuple[str, ...]) -> tuple[str, ...]:
    """Return the readable paths that exist and are not visible already."""
    seen = (*places.readable, str(places.workspace))
    wanted = dict.fromkeys(str(Path(path)) for path in (*places.shown, *wish.readable))
    real = {path: os.path.realpath(path) for path in wanted if Path(path).exists()}
    return tuple(
        path for path, at in real.items() if not _beneath(at, seen) or _beneath(at, hidden)
    )


def _beneath(path: str, folders: Iterable[str]) -> bool:
    return any(is_below(path, folder) for folder in folders)


def _demand_visible(places: SandboxPaths, shown: tuple[str, ...], workdir: str) -> None:
    more = tuple(map(os.path.realpath, shown))
    if _beneath(str(places.home), (*places.readable, *more)):
        raise ToolFailed(f"A readable folder holds {places.home}, where the secrets are.")
    seen = (str(places.workspace), *places.readable, SHARED, *more)
    if workdir not in ALWAYS_THERE and not _beneath(workdir, seen):
        raise ToolFailed(
            f"{workdir} is outside of the sandbox: commands work in {places.workspace}. "
            "Nothing was run. The owner can change terminal.workdir."
        )


def _demand_room(places: SandboxPaths) -> None:
    root, home = places.workspace, places.home
    system = (*SYSTEM, SHARED, SCRATCH, "/dev", "/proc")
    if any(is_below(path, str(root)) for path in system):
        raise ToolFailed(f"{root} contains the system: set terminal.workdir to a folder in it.")
    own = home / WORKSPACE
    if root.is_relative_to(home) and not root.is_relative_to(own):
        raise ToolFailed(f"{root} is a folder of Hermes: set terminal.workdir to another one.")


def _inside(places: SandboxPaths) -> tuple[str, ...]:
    """Return our home and a person's hidden files, if the workspace contains them."""
    root, person = places.workspace, places.person
    hidden = [places.home] if places.home.is_relative_to(root) else []
    if person.is_relative_to(root):
        hidden += [entry for entry in sorted(person.iterdir()) if entry.name.startswith(".")]
    return tuple(dict.fromkeys(str(path) for path in hidden if _is_plain(str(path))))


def _is_plain(path: str) -> bool:
    """Return True for a file or a folder that is not a link: a mount can cover it safely."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
