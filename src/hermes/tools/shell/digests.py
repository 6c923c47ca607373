"""Digest the files that a command's words name, so that what was approved is what runs (TOCTOU).

Only this, `check.py` and `private_files.py` look at the disk when a command is judged.
"""

import hashlib
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
FILE_BYTES_MAX = 64_000_000
FILES_MAX = 100  # beyond that, files are known by their times
WORDS_MAX = 5_000
ENTRIES_MAX = 20_000
NOT_A_NAME = re.compile(r"[\s'\"`;|&<>(){}$=,:\\]+")
# Names of files that some program obeys without being told their names.
CODE_FILE = re.compile(
    r".*\.(?:py|pth|js|mjs|cjs|ts|tsx|jsx|sh|bash|mk|cmake|toml|cfg|ini|ya?ml|rb|pl|pm|php|lua|go|rs"
    r"|c|h|cc|cpp|hpp|java|kts?|gradle|sql|awk|sed|jq)"
    r"|(?:GNU)?[Mm]akefile|[Jj]ustfile|Rakefile|Gemfile|Dockerfile|Procfile|go\.mod|go\.sum|Cargo\.lock"
    r"|(?:package|package-lock|composer|deno|tsconfig)\.json|\.env(?:rc)?|\.npmrc|\.yarnrc"
)
SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target"})


class FileDigest(Struct, frozen=True):
    """A file by its real path, and its digest where somebody who is not root could change it."""

    path: str
    sha256: str = ""


def program(name: str, cwd: Path, folders: Sequence[str] = PATH) -> FileDigest | None:
    """What would be started by that name; a name without a slash is looked for in fixed places."""
    if not name:
        return None
    places = [cwd / name] if "/" in name else [Path(folder, name) for folder in folders]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return digest_file(place)
    return None


def scripts(words: Iterable[str], cwd: Path) -> Iterator[FileDigest]:
    """The files among the words: a program may read or run them."""
    files = (cwd / word for word in words if word and not word.startswith("-"))
    for n, file in enumerate(file for file in files if _is_file(file)):
        try:
            yield digest_file(file) if n < FILES_MAX else stamp_file(file)
        except OSError:
            yield FileDigest(str(file), "it cannot be read")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no file has such a name
        return False


def words_in(text: str) -> list[str]:
    """Everything in a command that may be a name, also within quotes: `bash -c 'sh file'`."""
    return list(dict.fromkeys(NOT_A_NAME.split(text)))[:WORDS_MAX]


def code_in(folder: Path) -> tuple[str, int]:
    """A digest of the files there that programs find and run by themselves, and how many they are.
    By size, times and inode, nearest folders first."""
    waiting, left, found = deque([str(folder)]), ENTRIES_MAX, list[tuple[str, ...]]()
    while waiting and left > 0:
        try:
            entries = sorted(os.scandir(waiting.popleft()), key=lambda each: each.name)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting += [entry.path] if entry.name not in SKIPPED else []
            elif CODE_FILE.fullmatch(entry.name):
                about = entry.stat(follow_symlinks=False)
                known = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
                found.append((entry.path, *map(str, known)))
    text = "\0".join(part for each in found for part in each)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(), len(found)


def git_code(folder: Path) -> list[str]:
    """What a repository makes git run."""
    hooks = folder / ".git" / "hooks"
    listed = sorted(hooks.iterdir()) if hooks.is_dir() else []
    own = [str(each) for each in listed if not each.name.endswith(".sample")]
    return [str(folder / ".git" / "config"), *own]


def digest_file(file: Path) -> FileDigest:
    """One that is too big to be read counts as another each time it is touched."""
    path = file.resolve()
    known = path.stat()
    if known.st_uid == 0 and not known.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.geteuid():
        return FileDigest(str(path))
    if known.st_size > FILE_BYTES_MAX:
        return stamp_file(path)
    return FileDigest(str(path), hashlib.sha256(path.read_bytes()).hexdigest())


def stamp_file(file: Path) -> FileDigest:
    about = file.stat()
    times = f"{about.st_mtime_ns} {about.st_ctime_ns}"
    return FileDigest(str(file.resolve()), f"{about.st_size} {times} {about.st_ino}")
