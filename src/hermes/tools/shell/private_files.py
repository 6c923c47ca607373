"""Find the private files of a workspace, to hide them from commands that run without a question.

A bounded walk, nearest folders first. Links are not followed: the box covers what they lead to.
"""

import os
from collections import deque

from hermes.tools.shell.paths import is_private_name

ENTRIES_MAX = 50_000
FILES_MAX = 500
# Folders of programs: what looks like a key there came with a package.
SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", "site-packages"}
)


def private_files(root: str) -> tuple[str, ...]:
    """Files and folders with a name for keys or secrets, as absolute paths."""
    waiting, found, left = deque([root]), list[str](), ENTRIES_MAX
    while waiting and left > 0 and len(found) < FILES_MAX:
        try:
            entries = list(os.scandir(waiting.popleft()))
        except OSError:
            continue
        left -= len(entries)
        for entry in sorted(entries, key=lambda each: each.name):
            if is_private_name(entry.name):
                found.append(entry.path)
            elif entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return tuple(found[:FILES_MAX])
