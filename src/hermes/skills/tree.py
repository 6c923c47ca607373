"""The files of a skill as one value, and the digest that identifies these bytes.

A tree holds regular files only: no links, no devices, and no path that escapes the folder or means
something else on another file system. File modes are left out; they are derived from the content.
"""

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from hermes.core.errors import Rejected
from hermes.skills.form import FILE, Form, parsed
from hermes.views.files import flush_folder, make_folder

FILES_MAX = 200
TREE_BYTES_MAX = 10_000_000
PATH_CHARS_MAX = 200  # characters of a path that a message shows
PATH_BYTES_MAX = 200
DEPTH_MAX = 8
# Left behind by tools: skipped, and reported.
LITTER = frozenset({".git", ".hg", ".svn", ".DS_Store", "__MACOSX", "__pycache__", "Thumbs.db"})

# Device names on Windows, whatever follows the first dot.
DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")

Tree = Mapping[str, bytes]  # path with slashes: content


def digest_of(tree: Tree) -> str:
    """Return the SHA-256 over each path and content, sorted by path."""
    whole = hashlib.sha256(b"skill tree 1\n")
    for path in sorted(tree):
        content = tree[path]
        part = hashlib.sha256(content).hexdigest()
        whole.update(f"{len(path.encode())} {path} {len(content)} {part}\n".encode())
    return whole.hexdigest()


def form_of(tree: Tree) -> Form:
    """Parse the tree's SKILL.md. Raise Rejected."""
    if FILE not in tree:
        raise Rejected(f"it has no {FILE}")
    return parsed(tree[FILE])


def checked(tree: Tree) -> Tree:
    """Return the tree if it is within the limits. Raise Rejected."""
    if len(tree) > FILES_MAX:
        raise Rejected(f"it has more than {FILES_MAX} files")
    if sum(map(len, tree.values())) > TREE_BYTES_MAX:
        raise Rejected(f"its files have more than {TREE_BYTES_MAX:,} bytes together")
    folded: dict[str, str] = {}
    for path in tree:
        safe_path(path)
        other = folded.setdefault(path.casefold(), path)
        if other != path:
            raise Rejected(f"{other} and {path} would be one file on some systems; rename one")
    for path in tree:
        if any(str(parent) in tree for parent in PurePosixPath(path).parents):
            raise Rejected(f"{path} lies below a file")
    return tree


def safe_path(path: str) -> str:
    """Return the path if it stays inside the folder (path traversal). Raise Rejected otherwise."""
    parts = path.split("/")
    odd = any(not c.isprintable() for c in path) or "\\" in path or ":" in path
    leads_away = path.startswith("/") or any(part in ("", ".", "..") for part in parts)
    if odd or leads_away or unicodedata.normalize("NFC", path) != path:
        raise Rejected(f"the path {path[:PATH_CHARS_MAX]!r} is not allowed in a skill")
    if any(part.endswith((".", " ")) or DEVICE.fullmatch(part) for part in parts):
        raise Rejected(f"the path {path[:PATH_CHARS_MAX]!r} means something else on some systems")
    if len(path.encode()) > PATH_BYTES_MAX or len(parts) > DEPTH_MAX:
        raise Rejected(f"the path {path[:40]!r}… is too long or too deep")
    return path


def is_litter(path: str) -> bool:
    return any(part in LITTER for part in path.split("/"))


def read_tree(folder: Path, *, litter: bool = False) -> Tree:
    """Read all files below a folder without following links; `litter` includes tools' leftovers.
    Raise Rejected."""
    found: dict[str, bytes] = {}
    room = TREE_BYTES_MAX
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            for path, file in _files(handle, "", 1, litter=litter):
                with os.fdopen(file, "rb") as stream:
                    content = stream.read(room + 1)
                room -= len(content)
                if room < 0 or len(found) >= FILES_MAX:
                    raise Rejected(
                        f"{folder.name} is too large for a skill: at most {FILES_MAX} files with "
                        f"{TREE_BYTES_MAX:,} bytes together"
                    )
                found[path] = content
        finally:
            os.close(handle)
    except OSError as refused:
        raise Rejected(f"{folder} cannot be read ({refused.strerror})") from refused
    return checked(found)


def _files(folder: int, before: str, depth: int, *, litter: bool) -> Iterator[tuple[str, int]]:
    """Yield paths with open file descriptors. Links are never followed, even if swapped in
    meanwhile (TOCTOU)."""
    for name in sorted(os.listdir(folder)):
        path = f"{before}{name}"
        if name in LITTER and not litter:
            continue
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if depth >= DEPTH_MAX:
                raise Rejected(f"{path} is too deep for a skill")
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            try:
                yield from _files(inner, f"{path}/", depth + 1, litter=litter)
            finally:
                os.close(inner)
        elif stat.S_ISREG(mode):
            yield path, os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        else:
            kind = "a link" if stat.S_ISLNK(mode) else "no plain file"
            raise Rejected(f"{path} is {kind}; a skill holds plain files only")


def write_tree(tree: Tree, folder: Path, *, sealed: bool = True) -> None:
    """Write these files to a new folder and flush them. A file that begins with #! becomes
    executable; a sealed tree is read-only."""
    make_folder(folder.parent)
    folder.mkdir(mode=0o700)
    made = {folder}
    for path, content in tree.items():
        target = folder / path
        make_folder(target.parent)
        made |= {parent for parent in target.parents if folder in parent.parents}
        mode = 0o700 if content.startswith(b"#!") else 0o600
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if sealed:
                os.fchmod(handle, mode & 0o500)
            os.fsync(handle)
    for each in made:
        flush_folder(each)
        if sealed:
            each.chmod(0o500)


def remove_tree(folder: Path) -> None:
    """Remove a tree, also a sealed, partial or missing one. A link is removed, never followed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink(missing_ok=True)
        return
    if not folder.exists():
        return
    folder.chmod(0o700)
    for each in list(folder.iterdir()):
        remove_tree(each)
    folder.rmdir()
