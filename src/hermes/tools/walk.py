"""Searching files where there is no ripgrep: a program of its own, run like any other command.

It needs only the standard library, because it is started as `python -I -S walk.py JSON`: so a
hostile pattern can spin as long as it likes in a process that has a time limit, and never in ours.
It prints what `rg --null` prints: path, NUL, line number, colon, text; or one path a line.
"""

import fnmatch
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
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


def files_below(directory: str, rules: Sequence[Rule] = (), depth: int = 0) -> Iterator[str]:
    """All files that belong to the work, in the order of their names."""
    rules = [*rules, *rules_in(directory, _text_of(f"{directory}/.gitignore"))]
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_directory = entry.is_dir(follow_symlinks=False)
        path = f"{directory}/{entry.name}"
        if entry.name in SKIPPED or ignored(rules, path, is_directory=is_directory):
            continue
        if not is_directory:
            yield path
        elif depth < DEPTH_MAX:
            yield from files_below(path, rules, depth + 1)


def _text_of(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return file.read(FILE_BYTES_MAX)
    except OSError:
        return ""


def matches_in(path: str, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
    """Numbers and texts of matching lines; nothing of what is binary, too large or no file."""
    try:
        if not Path(path).is_file() or Path(path).stat().st_size > FILE_BYTES_MAX:
            return
        with Path(path).open("rb") as file:
            if b"\x00" in file.read(SAMPLE_BYTES):
                return
            file.seek(0)
            for number, raw in enumerate(file, 1):
                line = raw[:LINE_BYTES_MAX].rstrip(b"\r\n")
                if pattern.search(line):
                    yield number, line.decode("utf-8", "replace")
    except OSError:
        return


def wanted(path: str, glob: str) -> bool:
    """Does the glob fit the name, or the path where it speaks of directories?"""
    if "/" in glob:
        return fnmatch.fnmatch(path, f"*/{glob.removeprefix('./').removeprefix('/')}")
    return not glob or fnmatch.fnmatch(path.rpartition("/")[2].lower(), glob.lower())


def found(asked: dict[str, Any]) -> Iterator[str]:
    """The lines to print. Raises re.error."""
    by_name = asked["target"] == "files"
    pattern = re.compile(b"" if by_name else asked["pattern"].encode())
    top = asked["path"].rstrip("/") or "/"
    paths = iter([top]) if Path(top).is_file() else files_below(top)
    for path in paths:
        if not wanted(path, asked["glob"]):
            continue
        if by_name:
            yield path
        else:
            lines = matches_in(path, pattern)
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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
