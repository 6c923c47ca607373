"""Find the files of a workspace that must be read-only, because programs outside obey them.

These are files that act by themselves, in any folder, and the files in each git repository that git
executes or follows. A bounded walk finds them; unchanged folders are cached.
"""

import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from hermes.views.obeyed_files import GIT_READ_ONLY, is_self_acting

FOLDERS_MAX: Final = 5_000  # folders to read, the nearest first
DEPTH_MAX: Final = 8
LOCKED_MAX: Final = 500  # each is a mount
MODULES_DEPTH_MAX: Final = 6
SKIPPED: Final = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
SETTLED_NS: Final = 1_000_000_000  # a folder could change again within the same clock tick
GIT: Final = ".git"
BARE: Final = frozenset({"HEAD", "objects", "refs"})
# Files that git follows if they exist. Missing ones are replaced by harmless placeholders,
# because a path that does not exist cannot be made read-only.
PLACEHOLDERS: Final = {"commondir": b".\n", "config": b"", "hooks": None, "info": None}


class Guarded(Struct, frozen=True):
    """The paths to protect. `pinned` folders can change inside but cannot be moved; outer ones
    first."""

    pinned: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()


class _Listing(Struct, frozen=True):
    folders: tuple[str, ...]  # whole paths
    acting: tuple[str, ...]  # names of entries that act by themselves
    bare: bool  # git treats the folder itself as a repository


def guarded_in(root: str, hidden: Collection[str] = ()) -> Guarded:
    """Return the guarded paths of a writable workspace. `hidden` paths are not in the box at
    all."""
    pinned: dict[str, None] = {}
    locked: dict[str, None] = {}
    level, left, settled_ns = [root], FOLDERS_MAX, time.time_ns() - SETTLED_NS
    for _depth in range(DEPTH_MAX + 1):
        following: list[str] = []
        for folder in level[:left]:
            if folder in hidden:
                continue
            found = _listed(folder, settled_ns)
            if found.bare and folder != root:
                _guard_repository(folder, root, pinned, locked)
                continue
            for name in found.acting:
                path = f"{folder}/{name}"
                if path in hidden:
                    continue
                if name == GIT:
                    _guard_repository(path, root, pinned, locked)
                elif _is_plain(path):
                    locked[path] = None
            following += found.folders
        left -= len(level)
        if left <= 0 or len(locked) >= LOCKED_MAX:
            break
        level = following
    return Guarded(tuple(sorted(pinned)), tuple(locked)[:LOCKED_MAX])


def _guard_repository(
    path: str, root: str, pinned: dict[str, None], locked: dict[str, None]
) -> None:
    """Guard what git reads before it asks. A `.git` that is a file leads to another repository."""
    folder = path.rpartition("/")[0]
    while folder != root and folder.startswith(f"{root}/"):
        pinned[folder] = None
        folder = folder.rpartition("/")[0]
    if not _is_folder(path):
        if _is_plain(path):
            locked[path] = None
        return
    for own in (path, *_inner_repositories(path)):
        pinned[own] = None
        if not _is_plain(f"{own}/HEAD"):
            continue
        _put_placeholders(own)
    for own in [each for each in pinned if each == path or each.startswith(f"{path}/")]:
        for name in GIT_READ_ONLY:
            if _is_plain(f"{own}/{name}"):
                locked[f"{own}/{name}"] = None


def _inner_repositories(path: str) -> Iterator[str]:
    """Yield the folders of submodules and linked work trees, and those in between."""
    level = [f"{path}/modules", f"{path}/worktrees"]
    for _depth in range(MODULES_DEPTH_MAX):
        level = [folder for folder in level if _is_folder(folder)]
        yield from level
        inner: list[str] = []
        for folder in level:
            found = _read(folder)
            if found.bare or _is_plain(f"{folder}/HEAD"):
                inner += [f"{folder}/modules"]
            else:
                inner += found.folders
        level = inner


def _put_placeholders(path: str) -> None:
    """Create the placeholders, owned by the repository's owner. Skip a read-only repository."""
    with contextlib.suppress(OSError):
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags)
        try:
            for name, content in PLACEHOLDERS.items():
                _put(handle, name, content)
            if b"worktreeconfig" in _start_of(handle, "config").lower():
                _put(handle, "config.worktree", b"")
        finally:
            os.close(handle)


def _put(folder: int, name: str, content: bytes | None) -> None:
    with contextlib.suppress(FileExistsError):
        if content is None:
            os.mkdir(name, 0o755, dir_fd=folder)
            made = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            made = os.open(name, flags, 0o644, dir_fd=folder)
        try:
            if content:
                os.write(made, content)
            if os.geteuid() == 0:
                owner = os.fstat(folder)
                os.fchown(made, owner.st_uid, owner.st_gid)
        finally:
            os.close(made)


def _start_of(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        handle = os.open(name, flags, dir_fd=folder)
        with os.fdopen(handle, "rb") as file:
            return file.read(65_536)
    return b""


def _listed(folder: str, settled_ns: int) -> _Listing:
    try:
        status = os.lstat(folder)
    except OSError:
        return _Listing((), (), bare=False)
    if status.st_ctime_ns > settled_ns:
        return _read(folder)
    return _known(folder, status.st_ino, status.st_ctime_ns)


@lru_cache(maxsize=2 * FOLDERS_MAX)
def _known(folder: str, _inode: int, _changed_ns: int) -> _Listing:
    """Return the folder's entries, cached: the folder's change time changes with its entries."""
    return _read(folder)


def _read(folder: str) -> _Listing:
    folders: list[str] = []
    acting: list[str] = []
    bare = set(BARE)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            bare.discard(entry.name)
            if is_self_acting(entry.name):
                acting.append(entry.name)
            elif entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    return _Listing(tuple(sorted(folders)), tuple(sorted(acting)), bare=not bare)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_plain(path: str) -> bool:
    """Return True for a file or a folder that is not a link: a mount can cover it safely."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
