"""Hard links: a second name of a guarded file is as guarded as the first.

A path says nothing about it. Files with several names are common (package caches, clones, mail
folders), so they are not refused for that; they are compared with the few that are guarded. Where
those are too many to compare, a file with several names is refused after all.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from hermes.tools.paths import Places
from hermes.tools.reachable import WORKSPACE

NAMES_MAX = 100_000
DEPTH_MAX = 12
CREDENTIALS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".npmrc"),
    *(".pypirc", ".git-credentials", ".password-store", ".vault-token", ".config/gcloud"),
    *(".config/gh", ".bash_history", ".zsh_history", ".python_history"),
)
SYSTEM = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh")


class SecondNames:
    """The guarded files as they are now, looked up when a file with several names is met."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def has(self, found: os.stat_result) -> bool:
        """Is this open file, which is not guarded by its path, so by another?"""
        if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
            return False
        paths = self._guarded.get(found.st_ino, [])
        return len(self._guarded) > NAMES_MAX or any(_is_same(path, found) for path in paths)

    @cached_property
    def _guarded(self) -> Mapping[int, list[str]]:
        """Their paths by the number of the file, one more than the limit at most."""
        guarded, home = self._places.guarded, self._places.home
        tops = (*guarded, *(f"{home}/{name}" for name in CREDENTIALS), *SYSTEM)
        paths: dict[int, list[str]] = {}
        for path, inode in chain.from_iterable(_inodes(top, DEPTH_MAX) for top in tops):
            paths.setdefault(inode, []).append(path)
            if len(paths) > NAMES_MAX:
                break
        return paths


def _is_same(path: str, found: os.stat_result) -> bool:
    try:
        other = os.lstat(path)
    except OSError:
        return False
    return (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino)


def _inodes(top: str, depth: int) -> Iterator[tuple[str, int]]:
    """Of all files there; of a directory that is named, only what is in it."""
    try:
        with os.scandir(top) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.path, entry.inode()
                elif depth and entry.name != WORKSPACE:
                    yield from _inodes(entry.path, depth - 1)
    except NotADirectoryError:
        yield top, os.lstat(top).st_ino
    except OSError:
        return
