"""How much of the disk one command may fill, watched by its wrapper.

File systems with quotas of their own are rare, so the wrapper looks at the free space, and looks
the more often the less is left. A command is stopped when the workspace has grown by more than its
share since it began, or when the disk is nearly full and has filled while it ran: a file that was
deleted while open has no name, but takes space. Only the standard library: see program.py.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

GIGA, MEGA = 1024**3, 1024**2
FILES_MAX = 1_000_000  # new entries of one command
COUNTED_MAX = 100_000  # entries of a scratch place
NOTE_BYTES_MAX = MEGA  # of the one file outside of the workspace that a box can write to
FASTEST_BYTES_S = 2 * GIGA  # what a good disk takes
LOOK_S_MIN, LOOK_S_MAX = 0.2, 2.0
BLOCK = 512
CLOCK_NS = 1_000_000_000  # the times of files are coarser than ours


class DiskUse(NamedTuple):
    """Of a file system."""

    used: int
    free: int
    files: int
    total: int


class DiskWatch:
    """Watches the file system of a workspace. A command may add `most` bytes; 0: any number.
    `full` says what is wrong when it has added more."""

    def __init__(self, workspace: str, note: str, most: int, full: str = "") -> None:
        self._workspace = workspace
        self._full = full
        self._note = note
        self._most = most
        self._began_ns = time.time_ns() - CLOCK_NS
        self._first = self._base = _use_of(workspace) if most else None
        self._next = time.monotonic() + LOOK_S_MIN

    @property
    def wait_s(self) -> float | None:
        """How long until the next look. None: for ever."""
        return None if self._first is None else max(0.0, self._next - time.monotonic())

    def excess(self) -> str:
        """Why the command has to end, told once; empty while it may go on, or it is too early to
        look."""
        if self._first is None or time.monotonic() < self._next:
            return ""
        why = self._looked(self._first)
        if why:
            self._first = None
        return why

    def _looked(self, first: DiskUse) -> str:
        now = _use_of(self._workspace)
        self._next = time.monotonic() + LOOK_S_MAX
        if now is None:
            return ""
        left = min(self._most - (now.used - first.used), now.free - _reserve(now))
        self._next += min(max(left / FASTEST_BYTES_S, LOOK_S_MIN) - LOOK_S_MAX, 0.0)
        if _size_of(self._note) > NOTE_BYTES_MAX:
            return "it wrote too much into a file of Hermes"
        if now.free < _reserve(now) and now.used - first.used > _reserve(now):
            return "the disk is nearly full and filled while it ran"
        return self._growth(self._base or first, now)

    def _growth(self, base: DiskUse, now: DiskUse) -> str:
        if now.used - base.used <= self._most and now.files - base.files <= FILES_MAX:
            self._base = min(base, now)  # what others free is not this command's to fill
            return ""
        size, entries = self._changed()
        if size > self._most:
            return self._full or f"it filled more than {self._most / GIGA:g} GB of the disk"
        if entries > FILES_MAX:
            return f"it made more than {FILES_MAX:,} files"
        self._base = now  # it was another program: look again when as much has come once more
        return ""

    def _changed(self) -> tuple[int, int]:
        """Bytes and entries of the workspace that changed since the command began."""
        size = entries = 0
        for about in _entries(self._workspace):
            if about.st_ctime_ns >= self._began_ns:
                size += about.st_blocks * BLOCK
                entries += 1
        return size, entries


def scratch_watch(scratch: str, note: str, most: int) -> DiskWatch:
    """Watch a scratch place, which may hold `most` bytes with what is there already."""
    if not scratch:
        return DiskWatch(scratch, note, 0)
    held = sum(about.st_blocks * BLOCK for about in islice(_entries(scratch), COUNTED_MAX))
    full = f"its /tmp may hold {most / MEGA:g} MB; remove what you do not need"
    return DiskWatch(scratch, note, max(most - held, MEGA), full)


def _entries(folder: str) -> Iterator[os.stat_result]:
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(OSError):
                yield os.lstat(f"{root}/{name}")


def _use_of(path: str) -> DiskUse | None:
    try:
        about = os.statvfs(path)
    except OSError:
        return None
    size = about.f_frsize
    return DiskUse(
        used=(about.f_blocks - about.f_bfree) * size,
        free=about.f_bavail * size,
        files=about.f_files - about.f_ffree,
        total=about.f_blocks * size,
    )


def _reserve(use: DiskUse) -> int:
    """What has to stay free."""
    return min(GIGA, use.total // 20)


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
