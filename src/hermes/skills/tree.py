"""A skill's files as one value, and the digest that names exactly these bytes.

A tree holds plain files only: no links, no devices, no path that leads elsewhere or that two file
systems would read differently. Modes are no part of it: they are made from the bytes again.
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
PATH_CHARS_MAX = 200  # that are told of one
PATH_BYTES_MAX = 200
DEPTH_MAX = 8
# What tools leave behind; it is left out and said so.
LITTER = frozenset({".git", ".hg", ".svn", ".DS_Store", "__MACOSX", "__pycache__", "Thumbs.db"})

# Names that are devices on Windows, whatever follows the first dot.
DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")

Tree = Mapping[str, bytes]  # path with slashes: content


def digest_of(tree: Tree) -> str:
    """SHA-256 over each path and each content, in the order of the paths."""
    whole = hashlib.sha256(b"skill tree 1\n")
    for path in sorted(tree):
        content = tree[path]
        part = hashlib.sha256(content).hexdigest()
        whole.update(f"{len(path.encode())} {path} {len(content)} {part}\n".encode())
    return whole.hexdigest()


def form_of(tree: Tree) -> Form:
    """Raises Rejected."""
    if FILE not in tree:
        raise Rejected(f"there is no {FILE} in it")
    return parsed(tree[FILE])


def checked(tree: Tree) -> Tree:
    """The same, when it keeps the limits. Raises Rejected."""
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
    """Raises Rejected for a path that does not stay where it is put."""
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
    """All files below it, what tools leave behind only where that is asked for. Nothing is
    followed. Raises Rejected."""
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
    """Paths with open files. A link that is put in our way meanwhile is not followed either."""
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
    """A new folder with these files, flushed. A file that begins with #! can be run; in a sealed
    one nothing is meant to be written again."""
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
    """Also one that is sealed, half there, or not at all. A link is removed and never followed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink(missing_ok=True)
        return
    if not folder.exists():
        return
    folder.chmod(0o700)
    for each in list(folder.iterdir()):
        remove_tree(each)
    folder.rmdir()
