"""Find files that have another name below a path (hard links).

A path says nothing about it. Files with several names are common (package caches, clones, mail
folders), so they are not refused for that; they are compared with the few that are guarded. Where
those are too many to compare, a file with several names counts as one of them after all.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from hermes.ports.workspace import FileStatus

NAMES_MAX = 100_000
DEPTH_MAX = 12


def linked_below(
    found: Sequence[FileStatus], below: Sequence[str], skipped: str
) -> frozenset[tuple[int, int]]:
    """The ids of those that have a name there, too. Folders called `skipped` are not entered."""
    several = [each for each in found if each.names > 1 and each.kind == "file"]
    if not several:
        return frozenset()
    known = _names_below(below, skipped)
    return frozenset(
        each.id
        for each in several
        if len(known) > NAMES_MAX or any(_is_same(path, each) for path in known.get(each.id[1], ()))
    )


def _names_below(tops: Sequence[str], skipped: str) -> Mapping[int, list[str]]:
    """Their paths by the number of the file, one more than the limit at most."""
    paths: dict[int, list[str]] = {}
    for path, inode in chain.from_iterable(_inodes(top, skipped, DEPTH_MAX) for top in tops):
        paths.setdefault(inode, []).append(path)
        if len(paths) > NAMES_MAX:
            break
    return paths


def _is_same(path: str, found: FileStatus) -> bool:
    try:
        other = os.lstat(path)
    except OSError:
        return False
    return (other.st_dev, other.st_ino) == found.id


def _inodes(top: str, skipped: str, depth: int) -> Iterator[tuple[str, int]]:
    """Of all files there; of a directory that is named, only what is in it."""
    try:
        with os.scandir(top) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.path, entry.inode()
                elif depth and entry.name != skipped:
                    yield from _inodes(entry.path, skipped, depth - 1)
    except NotADirectoryError:
        yield top, os.lstat(top).st_ino
    except OSError:
        return
