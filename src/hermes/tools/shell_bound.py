"""What was judged is what runs: the file behind a program's name, held fast between the two.

The only part of judging commands that looks at the disk.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
FILE_BYTES_MAX = 64_000_000
SCRIPTS_MAX = 20
NOT_FOUND = "the program is not there"


class Held(Struct, frozen=True):
    """A file, and its digest where somebody who is not root could change it."""

    path: str
    sha256: str = ""


class Bound(Struct, frozen=True, kw_only=True):
    """An exact command: `argv` begins with the real path of the program."""

    argv: tuple[str, ...]
    held: tuple[Held, ...]


class Changed(Exception):
    """A file is not what it was when it was judged."""


def bind(argv: Sequence[str], cwd: Path, *, folders: Sequence[str] = PATH) -> Bound:
    """Raises Changed when there is no such program. Scripts among the words are held as well."""
    program = _found(argv[0], folders)
    held = [_held(program)]
    for word in argv[1:]:
        path = cwd / word
        if len(held) <= SCRIPTS_MAX and not word.startswith("-") and path.is_file():
            held.append(_held(path.resolve()))
    return Bound(argv=(str(program), *argv[1:]), held=tuple(held))


def check(bound: Bound) -> None:
    """Right before it runs. Raises Changed."""
    for each in bound.held:
        path = Path(each.path)
        if path.resolve() != path or not path.is_file() or _held(path) != each:
            raise Changed(f"{each.path} has changed since it was judged; nothing was run")


def _found(name: str, folders: Sequence[str]) -> Path:
    for folder in folders:
        path = Path(folder, name)
        if "/" not in name and path.is_file() and os.access(path, os.X_OK):
            return path.resolve()
    raise Changed(f"{name}: {NOT_FOUND}")


def _held(path: Path) -> Held:
    known = path.stat()
    safe = known.st_uid == 0 and not known.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if safe and os.geteuid() != 0:
        return Held(str(path))
    if known.st_size > FILE_BYTES_MAX:
        raise Changed(f"{path} is too big to be held fast")
    return Held(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
