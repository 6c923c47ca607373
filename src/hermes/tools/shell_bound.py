"""The files behind a command's words, held by their digests: what was judged is what runs.

The only part of judging commands that looks at the disk.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
FILE_BYTES_MAX = 64_000_000
FILES_MAX = 20


class Held(Struct, frozen=True):
    """A file by its real path, and its digest where somebody who is not root could change it."""

    path: str
    sha256: str = ""


def program(name: str, cwd: Path, folders: Sequence[str] = PATH) -> Held | None:
    """What would be started by that name; a name without a slash is looked for in fixed places."""
    if not name:
        return None
    places = [cwd / name] if "/" in name else [Path(folder, name) for folder in folders]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return hold(place)
    return None


def scripts(words: Sequence[str], cwd: Path) -> Iterator[Held]:
    """The files among the words: a program may run them."""
    files = (cwd / word for word in words if word and not word.startswith("-"))
    for file in [file for file in files if file.is_file()][:FILES_MAX]:
        yield hold(file)


def hold(file: Path) -> Held:
    """One that is too big to be read counts as another each time it is touched."""
    path = file.resolve()
    known = path.stat()
    if known.st_uid == 0 and not known.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.geteuid():
        return Held(str(path))
    if known.st_size > FILE_BYTES_MAX:
        return Held(str(path), f"{known.st_size} {known.st_mtime_ns} {known.st_ino}")
    return Held(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
