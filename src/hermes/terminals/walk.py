"""Searching files where there is no ripgrep: a program of its own, run like any other command.

It needs only the standard library, because it is started as `python -I -S walk.py JSON`: so a
hostile pattern can spin as long as it likes in a process that has a time limit, and never in ours.
It prints what `rg --null` prints: path, NUL, line number, colon, text; or one path a line.
"""

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

FILE_BYTES_MAX = 5 * 1024 * 1024
SAMPLE_BYTES = 8_192
LINE_BYTES_MAX = 4_096
SHOWN_CHARS = 300
DEPTH_MAX = 100
SKIPPED = frozenset(
    {
        ".cache",
        ".git",
        ".hg",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "venv",
    }
)

# What a rule of a .gitignore matches below which directory; only directories? takes back?
Rule = tuple[str, re.Pattern[str], bool, bool]
Found = tuple[str, int, str]  # a path to show, and the file: its directory, held open, and its name
Hidden = Callable[[str], bool]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
STEP = os.O_DIRECTORY | os.O_CLOEXEC | (os.O_PATH if sys.platform == "linux" else os.O_RDONLY)
PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


def rules_in(directory: str, text: str) -> list[Rule]:
    """The rules of the .gitignore in a directory."""
    rules: list[Rule] = []
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line or line.startswith("#"):
            continue
        glob = line.removeprefix("!")
        pattern = re.compile(_translated(glob.rstrip("/")))
        rules.append((directory, pattern, glob.endswith("/"), line.startswith("!")))
    return rules


def _translated(glob: str) -> str:
    """A glob as a regular expression. Without a slash inside it matches at any depth."""
    out, glob = "" if "/" in glob else "(?:.*/)?", glob.removeprefix("/")
    while glob:
        if glob.startswith("**/"):
            out, glob = out + "(?:.*/)?", glob[3:]
        elif glob.startswith("**"):
            out, glob = out + ".*", glob[2:]
        elif glob[0] == "*":
            out, glob = out + "[^/]*", glob[1:]
        elif glob[0] == "?":
            out, glob = out + "[^/]", glob[1:]
        elif (group := re.match(r"\[(!?)([^]/[\\]+)]", glob)) is not None:
            out, glob = f"{out}[{'^' if group[1] else ''}{group[2]}]", glob[group.end() :]
        else:
            out, glob = out + re.escape(glob[0]), glob[1:]
    return out + r"\Z"


def ignored(rules: Sequence[Rule], path: str, *, is_directory: bool) -> bool:
    """The last rule that matches decides."""
    for directory, pattern, only_directories, taken_back in reversed(rules):
        relative = path[len(directory) + 1 :]
        if (is_directory or not only_directories) and pattern.match(relative):
            return not taken_back
    return False


def files_below(
    directory: str, folder: int, hidden: Hidden, rules: Sequence[Rule] = (), depth: int = 0
) -> Iterator[Found]:
    """All files that belong to the work, in the order of their names. No link is followed: each
    directory is opened from the one above it."""
    rules = [*rules, *rules_in(directory, _ignore_rules(folder))]
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_directory = entry.is_dir(follow_symlinks=False)
        path = f"{directory}/{entry.name}"
        if entry.is_symlink() or entry.name in SKIPPED or hidden(path):
            continue
        if ignored(rules, path, is_directory=is_directory):
            continue
        if not is_directory:
            yield path, folder, entry.name
        elif depth < DEPTH_MAX:
            with _opened(entry.name, FOLDER, folder) as inner:
                if inner is not None:
                    yield from files_below(path, inner, hidden, rules, depth + 1)


@contextmanager
def _opened(name: str, flags: int, folder: int | None = None) -> Iterator[int | None]:
    """None for what cannot be opened, such as a link that was put there meanwhile."""
    try:
        handle = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _content(folder: int, name: str) -> Iterator[bytes]:
    """The lines of a plain file that is not too large."""
    with _opened(name, PLAIN, folder) as handle:
        if handle is None:
            return
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES_MAX:
            return
        with os.fdopen(os.dup(handle), "rb") as file:
            yield from file


def _ignore_rules(folder: int) -> str:
    return b"".join(_content(folder, ".gitignore")).decode("utf-8", "replace")


def matches_in(folder: int, name: str, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
    """Numbers and texts of matching lines; nothing of what is binary, too large or no file."""
    sampled = 0
    try:
        lines = list(_content(folder, name))
    except OSError:
        return
    for raw in lines:
        if sampled < SAMPLE_BYTES and b"\x00" in raw[: SAMPLE_BYTES - sampled]:
            return
        sampled += len(raw)
        if sampled >= SAMPLE_BYTES:
            break
    for number, raw in enumerate(lines, 1):
        line = raw[:LINE_BYTES_MAX].rstrip(b"\r\n")
        if pattern.search(line):
            yield number, line.decode("utf-8", "replace")


def wanted(path: str, glob: str) -> bool:
    """Does the glob fit the name, or the path where it speaks of directories?"""
    if "/" in glob:
        return fnmatch.fnmatch(path, f"*/{glob.removeprefix('./').removeprefix('/')}")
    return not glob or fnmatch.fnmatch(path.rpartition("/")[2].lower(), glob.lower())


def hidden_below(top: str, names: Sequence[str], guarded: Sequence[str]) -> Hidden:
    """What nobody may see there: by a name, or because it is guarded."""
    base = top if top.startswith("/") else str(Path.cwd())
    folded, places = {name.casefold() for name in names}, set(guarded)

    def hidden(path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.casefold() in folded or f"{base.rstrip('/')}{path[len(top) :]}" in places

    return hidden


@contextmanager
def place_of(path: str) -> Iterator[tuple[int, str]]:
    """The directory that holds it, and its name there; a link on the way is not followed."""
    if not path.startswith("/"):
        handle, last = os.open(".", FOLDER), "."
    else:
        handle = os.open("/", STEP)
        *parts, last = path.strip("/").split("/")
        for part in parts:
            above, handle = handle, os.open(part, STEP | os.O_NOFOLLOW, dir_fd=handle)
            os.close(above)
    try:
        yield handle, last or "."
    finally:
        os.close(handle)


def files_of(top: str, hidden: Hidden) -> Iterator[Found]:
    """Those below a directory, or the one file that it is. Raises OSError."""
    with place_of(top) as (folder, name):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            yield top, folder, name
            return
        with _opened(name, FOLDER, folder) as inner:
            if inner is not None:
                yield from files_below(top, inner, hidden)


def found(asked: dict[str, Any]) -> Iterator[str]:
    """The lines to print. Raises re.error and OSError."""
    by_name = asked["target"] == "files"
    pattern = re.compile(b"" if by_name else asked["pattern"].encode())
    top = asked["path"].rstrip("/") or "/"
    hidden = hidden_below(top, asked["names"], asked["guarded"])
    for path, folder, name in files_of(top, hidden):
        if not wanted(path, asked["glob"]):
            continue
        if by_name:
            yield path
        else:
            lines = matches_in(folder, name, pattern)
            yield from (f"{path}\x00{number}:{text[:SHOWN_CHARS]}" for number, text in lines)


def main(argument: str) -> int:
    asked = json.loads(argument)
    try:
        for line in islice(found(asked), asked["limit"]):
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()  # what was found counts even when time runs out
    except re.error as wrong:
        sys.stdout.write(f"regex error: {wrong}\n")
        return 2
    except OSError as refused:
        sys.stdout.write(f"{asked['path']}: {refused.strerror}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
