"""The scratch places of conversations on the disk: made at the first use, swept when unused.

`BASE/NAME/tmp` is what one conversation knows as `/tmp`. The time of `NAME` is that of its last
use. A conversation that comes back after a long time begins with an empty one.
"""

import os
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from hermes.core.errors import ToolFailed
from hermes.ports.scratch import HOME

KEEP_S = 7 * 86_400.0  # since the last use
KEEP_BYTES = 4 * 1024**3  # of all together; then the longest unused goes first
FRESH_S = 3_600.0  # which is never swept
ENTRIES_MAX = 200_000  # that are counted
BLOCK = 512


def make_scratch(scratch: str) -> None:
    """Make the folder, with a home in it, and note that it is used. Raise ToolFailed."""
    place = Path(scratch)
    try:
        place.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (place.parent, place, place / HOME):
            folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(place.parent)
    except OSError as refused:
        problem = f"The scratch place for /tmp cannot be made: {refused.strerror}."
        raise ToolFailed(problem) from refused


def sweep_scratch(base: Path, used: Collection[str], keep_bytes: int = KEEP_BYTES) -> int:
    """Remove what was not used for long, then the longest unused while there is too much; return
    how many. `used` are the places of commands that run."""
    busy = {Path(place).parent.name for place in used}
    try:
        found = [entry for entry in os.scandir(base) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return 0
    now = time.time()
    ages = sorted([(now - entry.stat().st_mtime, entry.name, entry) for entry in found])[::-1]
    sizes = {entry.name: _size_of(entry.path) for entry in found}
    total, removed = sum(sizes.values()), 0
    for age, _name, entry in ages:
        too_much = total > keep_bytes and age > FRESH_S
        if entry.name not in busy and (age > KEEP_S or too_much):
            shutil.rmtree(entry.path, ignore_errors=True)
            total -= sizes[entry.name]
            removed += 1
    return removed


def _size_of(folder: str) -> int:
    size = entries = 0
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(OSError):
                size += os.lstat(f"{root}/{name}").st_blocks * BLOCK
            entries += 1
        if entries > ENTRIES_MAX:
            break
    return size
