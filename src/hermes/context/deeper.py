"""Files of given names below a folder: only their paths, found by a walk that has an end."""

from collections.abc import Sequence
from typing import Final

from hermes.ports.workspace import FileEntry, Files

DEPTH_MAX: Final = 5
ENTRIES_MAX: Final = 5_000  # that are looked at
FOUND_MAX: Final = 20
SKIPPED: Final = frozenset({"__pycache__", "node_modules", "venv", "vendor", "target", "dist"})


def deeper(disk: Files, folder: str, names: Sequence[str]) -> tuple[str, ...]:
    """Nearest first, by name. Links are not followed, hidden folders not entered."""
    found: list[str] = []
    level, left = [""], ENTRIES_MAX
    for _depth in range(DEPTH_MAX + 1):
        following: list[str] = []
        for inner in level:
            files, folders, seen = _look(disk, f"{folder}/{inner}", left)
            left -= seen
            if inner:
                found += (f"{inner}/{name}" for name in names if name in files)
            following += (f"{inner}/{name}" if inner else name for name in folders)
            if left <= 0 or len(found) >= FOUND_MAX:
                return tuple(found[:FOUND_MAX])
        level = following
    return tuple(found)


def _look(disk: Files, folder: str, entries_max: int) -> tuple[set[str], list[str], int]:
    """Its plain files, the folders to enter, and how many entries that took."""
    entries = _entries(disk, folder, entries_max)
    files = {entry.name for entry in entries if entry.kind == "file"}
    folders = [entry.name for entry in entries if entry.kind == "folder"]
    entered = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
    return files, sorted(entered), max(len(entries), 1)


def _entries(disk: Files, folder: str, entries_max: int) -> Sequence[FileEntry]:
    try:
        return disk.list(folder, limit=entries_max)
    except OSError:  # gone, or closed to us: nothing to tell
        return ()
