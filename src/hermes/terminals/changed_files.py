"""What was changed below a folder since some moment, by change times, within a limit.

A program can set the modification time of a file, but not its change time.
"""

import os
import posixpath
from typing import Final

from hermes.ports.workspace import ChangedFiles
from hermes.views.obeyed_files import GIT_READ_ONLY

ENTRIES_MAX: Final = 200_000  # that are looked at
FILES_MAX: Final = 1_000  # that are told one by one; more are told by their folders
GIT: Final = ".git"
GIT_DEPTH_MAX: Final = 4
# Of a git directory, what holds other people's words; the rest changes with every look at it.
GIT_CONTENT: Final = ("objects", "refs", "packed-refs", "logs", "COMMIT_EDITMSG")


def changed_since(root: str, at_ns: int) -> ChangedFiles:
    """Links are not followed. A folder that the limit does not reach counts as changed."""
    files: list[str] = []
    folders: list[str] = []
    settings: list[str] = []
    waiting, left = [root], ENTRIES_MAX
    while waiting:
        folder = waiting.pop()
        if left <= 0:
            folders.append(folder)
            continue
        if posixpath.basename(folder) == GIT:
            settings += [path for each in _git_folders(folder) for path in _obeyed(each, at_ns)]
            if _git_changed(folder, at_ns):
                folders.append(folder)
            continue
        found, inner, seen = _look(folder, at_ns)
        if {f"{folder}/objects", f"{folder}/refs"} <= {*inner}:
            settings += _obeyed(folder, at_ns)  # git takes it for a repository by what is in it
        files += found
        waiting += inner
        left -= seen
    if len(files) > FILES_MAX:
        folders += sorted({posixpath.dirname(path) for path in files})
        files = []
    if len(folders) > FILES_MAX:
        folders = sorted({_near_top(path, root) for path in folders})
    return ChangedFiles(files=tuple(files), folders=tuple(folders), settings=tuple(settings))


def _near_top(path: str, root: str) -> str:
    """The folder of the first level that holds it."""
    inner = path[len(root) :].strip("/").partition("/")[0]
    return f"{root.rstrip('/')}/{inner}" if inner else root


def _look(folder: str, at_ns: int) -> tuple[list[str], list[str], int]:
    files: list[str] = []
    inner: list[str] = []
    seen = 1
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.path)
                elif _is_changed(entry, at_ns):
                    files.append(entry.path)
    except OSError:  # gone, or closed to us
        return files, inner, seen
    return files, inner, seen


def _is_changed(entry: "os.DirEntry[str]", at_ns: int) -> bool:
    try:
        regular = entry.is_file(follow_symlinks=False)
        return regular and entry.stat(follow_symlinks=False).st_ctime_ns >= at_ns
    except OSError:
        return False


def _git_folders(folder: str) -> list[str]:
    """The repository itself, and those of its submodules and work trees."""
    found, level = [folder], [f"{folder}/modules", f"{folder}/worktrees"]
    for _depth in range(GIT_DEPTH_MAX):
        inner: list[str] = []
        for path in level:
            try:
                with os.scandir(path) as entries:
                    inner += [each.path for each in entries if each.is_dir(follow_symlinks=False)]
            except OSError:
                continue
        found += inner
        level = inner[:FILES_MAX]
    return found


def _obeyed(folder: str, at_ns: int) -> list[str]:
    """What has been changed of that which git obeys there."""
    found: list[str] = []
    for name in GIT_READ_ONLY:
        path = f"{folder}/{name}"
        try:
            if os.lstat(path).st_ctime_ns >= at_ns:
                found.append(path)
        except OSError:
            continue
    return found


def _git_changed(folder: str, at_ns: int) -> bool:
    """Has git taken in new content? A new object changes a folder two levels down at most."""
    waiting = [f"{folder}/{name}" for name in GIT_CONTENT]
    for _depth in range(4):
        following: list[str] = []
        for path in waiting:
            try:
                status = os.lstat(path)
                if status.st_ctime_ns >= at_ns:
                    return True
                with os.scandir(path) as entries:
                    following += [each.path for each in entries if each.is_dir()]
            except OSError:
                continue
        waiting = following[:ENTRIES_MAX]
    return False
