"""What of this machine a box shows: an allow-list of the system, the workspace, nothing of ours.

As root the modes of files protect nothing, so of /etc only what everybody may read is shown then.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.views.sandbox import Wish

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
SHARED = "/etc"
KERNEL = ("/sys/devices/system",)  # how many processors there are
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
SCRATCH = "/tmp"  # noqa: S108 - inside the box it is a file system of its own
FLEETING = (SCRATCH, "/var/tmp", "/dev/shm")  # noqa: S108 - gone with each command
ALWAYS_THERE = ("/", "/proc", "/dev", *FLEETING)
WORKSPACE = "workspace"  # the only folder of our home that a command may see

# Files of a workspace that some other program runs or obeys later, outside of any box.
TRAPS = (
    *(".git/config", ".git/hooks", ".git/info", ".gitmodules", ".husky"),
    *(".envrc", ".vscode", ".idea", ".zed", ".devcontainer", ".mcp.json", ".cursor", ".claude"),
    *("AGENTS.md", "HERMES.md", "CLAUDE.md", "GEMINI.md", "SOUL.md", ".cursorrules", ".hermes.md"),
)
PINNED = (".git",)  # cannot be renamed away, or its traps would go with it
ENTRIES_MAX = 50_000


class Layout(Struct, frozen=True, kw_only=True):
    """The paths of one box. Later ones stand on top of earlier ones."""

    readable: tuple[str, ...]
    workspace: str
    workspace_changes: bool
    pinned: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # read-only, on top of everything, even of what is hidden
    covered: tuple[str, ...] = ()  # parts of those that nobody should see
    note: str = ""
    door: str = ""  # the folder with the proxy's socket, where there is a network
    workdir: str


class Shown(Struct, frozen=True):
    """A folder of the system, divided: what everybody may read, and what not."""

    open: tuple[str, ...]
    closed: tuple[str, ...]


def survey(root: str) -> Shown:
    """One entry for a whole subtree where it can be, so that a box needs few rules."""
    opened, closed, _ = _divided(Path(root), ENTRIES_MAX)
    return Shown(tuple(sorted(opened)), tuple(sorted(closed)))


def _divided(place: Path, left: int) -> tuple[list[str], list[str], int]:
    try:
        entry = place.lstat()
    except OSError:
        return [], [], left
    left -= 1
    if stat.S_ISLNK(entry.st_mode):  # it leads somewhere that has a rule of its own, or has none
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


class Places(Struct, frozen=True, kw_only=True):
    """What does not change between two commands of one gateway."""

    workspace: Path
    home: Path  # ours: secrets, policy, database, pairing, skills
    person: Path  # the home of the account that we run as
    readable: tuple[str, ...] = ()  # the system
    shown: tuple[str, ...] = ()  # more, by our choice: programs of skills
    covered: tuple[str, ...] = ()  # but for these
    shared: Shown
    settled: bool = False

    def root(self, chosen: str) -> Path:
        """The workspace of one command: the owner's chat may have brought its own."""
        return self.workspace if self.settled or not chosen else Path(chosen).resolve()


def places_of(workspace: Path, home: Path, shown: Iterable[Path] = ()) -> Places:
    shared = survey(SHARED) if os.geteuid() == 0 else Shown((SHARED,), ())
    return Places(
        workspace=workspace.resolve(),
        home=home.resolve(),
        person=Path.home().resolve(),
        readable=tuple(path for path in (*SYSTEM, *KERNEL) if Path(path).exists()),
        shown=tuple(str(path) for path in shown),
        shared=shared,
    )


def is_below(path: str, folder: str) -> bool:
    """Is it that folder, or something in it? Both as Path spells them, so that comparing text is
    enough: a box asks this a hundred times."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def outlasts(folder: str, workspace: Path) -> bool:
    """Does that folder, as a command saw it, outlast the box?"""
    place = Path(folder)
    if place.is_relative_to(workspace):
        return True
    return not any(place.is_relative_to(path) for path in FLEETING)


def layout_of(places: Places, wish: Wish) -> Layout:
    """Raises ToolFailed for a workspace that cannot be shown without showing what must not be."""
    places = replace(places, workspace=places.root(wish.workspace))
    _demand_room(places)
    hidden = _inside(places)
    shown = _shown(places, wish, hidden)
    workdir = os.path.realpath(wish.workdir)
    _demand_visible(places, shown, workdir)
    root, changes = str(places.workspace), wish.profile != "read"
    traps = [f"{root}/{trap}" for trap in TRAPS] if changes else []
    pins = [f"{root}/{pin}" for pin in PINNED] if changes else []
    return Layout(
        readable=places.readable,
        workspace=root,
        workspace_changes=changes,
        pinned=tuple(pin for pin in pins if _is_plain(pin)),
        locked=tuple(trap for trap in traps if _is_plain(trap)),
        hidden=hidden,
        shown=shown,
        covered=tuple(path for path in places.covered if _is_plain(path)),
        note=wish.note,
        workdir=workdir,
    )


def _shown(places: Places, wish: Wish, hidden: tuple[str, ...]) -> tuple[str, ...]:
    """Without what can be seen already, and without what is not there."""
    seen = (*places.readable, str(places.workspace))
    wanted = dict.fromkeys(str(Path(path)) for path in (*places.shown, *wish.readable))
    real = {path: os.path.realpath(path) for path in wanted if Path(path).exists()}
    return tuple(
        path for path, at in real.items() if not _beneath(at, seen) or _beneath(at, hidden)
    )


def _beneath(path: str, folders: Iterable[str]) -> bool:
    return any(is_below(path, folder) for folder in folders)


def _demand_visible(places: Places, shown: tuple[str, ...], workdir: str) -> None:
    more = tuple(map(os.path.realpath, shown))
    if _beneath(str(places.home), (*places.readable, *more)):
        raise ToolFailed(f"A readable folder holds {places.home}, where the secrets are.")
    seen = (str(places.workspace), *places.readable, SHARED, *more)
    if workdir not in ALWAYS_THERE and not _beneath(workdir, seen):
        raise ToolFailed(
            f"{workdir} is outside of the sandbox: commands work in {places.workspace}. "
            "Nothing was run. The owner can change terminal.workdir."
        )


def _demand_room(places: Places) -> None:
    root, home = places.workspace, places.home
    system = (*SYSTEM, SHARED, SCRATCH, "/dev", "/proc")
    if any(is_below(path, str(root)) for path in system):
        raise ToolFailed(f"{root} holds the system itself: set terminal.workdir to a folder in it.")
    own = home / WORKSPACE
    if root.is_relative_to(home) and not root.is_relative_to(own):
        raise ToolFailed(f"{root} is a folder of Hermes: set terminal.workdir to another one.")


def _inside(places: Places) -> tuple[str, ...]:
    """Our home, and a person's hidden files, where the workspace holds them."""
    root, person = places.workspace, places.person
    hidden = [places.home] if places.home.is_relative_to(root) else []
    if person.is_relative_to(root):
        hidden += [entry for entry in sorted(person.iterdir()) if entry.name.startswith(".")]
    return tuple(dict.fromkeys(str(path) for path in hidden if _is_plain(str(path))))


def _is_plain(path: str) -> bool:
    """A file or a folder, and no link: the thing itself can be stood upon."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
