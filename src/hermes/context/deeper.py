"""Files of given names below a folder: only their paths, found by a walk that has an end."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

DEPTH_MAX: Final = 5
ENTRIES_MAX: Final = 5_000  # that are looked at
FOUND_MAX: Final = 20
SKIPPED: Final = frozenset({"__pycache__", "node_modules", "venv", "vendor", "target", "dist"})


def deeper(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Nearest first, by name. Links are not followed, hidden folders not entered."""
    found: list[str] = []
    level, left = [""], ENTRIES_MAX
    for _depth in range(DEPTH_MAX + 1):
        following: list[str] = []
        for inner in level:
            files, folders, seen = _look(folder / inner, left)
            left -= seen
            if inner:
                found += (f"{inner}/{name}" for name in names if name in files)
            following += (f"{inner}/{name}" if inner else name for name in folders)
            if left <= 0 or len(found) >= FOUND_MAX:
                return tuple(found[:FOUND_MAX])
        level = following
    return tuple(found)


def _look(folder: Path, entries_max: int) -> tuple[set[str], list[str], int]:
    """Its plain files, the folders to enter, and how many entries that took."""
    files: set[str] = set()
    folders: list[str] = []
    seen = 0
    for entry in _entries(folder):
        seen += 1
        if seen > entries_max:
            break
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith(".") and entry.name not in SKIPPED:
                folders.append(entry.name)
        elif entry.is_file(follow_symlinks=False):
            files.add(entry.name)
    return files, sorted(folders), max(seen, 1)


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:  # gone, or closed to us: nothing to tell
        return
