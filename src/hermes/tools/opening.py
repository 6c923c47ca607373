"""The one place where file tools open what a path names: beneath its root, and judged again.

A path inside of the workspace is opened beneath the workspace, any other beneath `/`. What the
descriptor really stands for is then compared with what was named (see `demand_reach`).
"""

import contextlib
import errno
import os
import posixpath
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hermes.core.errors import ToolFailed
from hermes.core.grants import is_beneath
from hermes.tools.beneath import PLAIN, TOP, Beneath, Spot
from hermes.tools.paths import Places
from hermes.tools.reachable import demand_reach, output_call
from hermes.tools.second_names import SecondNames
from hermes.views.rare import likely

SIBLINGS_MAX = 2_000
SUGGESTIONS_MAX = 3

_SAID = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "a symbolic link in it is not followed",
    errno.EXDEV: "a link leads out of the workspace; name what it leads to",
    errno.EEXIST: "a part of the path is a file, not a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EISDIR: "it is a directory",
    errno.ENXIO: "it is not a regular file (a device, pipe or socket)",
}


@contextlib.contextmanager
def failures_about(places: Places, path: Path) -> Iterator[None]:
    """What the operating system refuses, as a sentence for the model."""
    try:
        yield
    except FileNotFoundError as missing:
        raise ToolFailed(f"{path} does not exist.{suggestion(places, path)}") from missing
    except OSError as refused:
        raise ToolFailed(f"{path}: {_said(refused)}.") from refused


def _said(refused: OSError) -> str:
    return _SAID.get(refused.errno or 0, refused.strerror or str(refused))


@contextlib.contextmanager
def opened(places: Places, path: Path) -> Iterator[BinaryIO]:
    """A regular file to read. A FIFO or a device is refused instead of waited for."""
    demand_reach(places, path, str(path), writes=False)
    with failures_about(places, path), _root(places, path) as (root, inside):
        handle, real = root.open(inside, PLAIN)
        with os.fdopen(handle, "rb") as file:
            demand_reach(places, path, _as_named(places, real), writes=False)
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                raise ToolFailed(f"{path} is a directory. List it with search_files or `ls`.")
            if not stat.S_ISREG(found.st_mode):
                raise ToolFailed(f"{path} is not a regular file (a device, pipe or socket).")
            if SecondNames(places).has(found):
                raise ToolFailed(f"{path} is guarded: it is another name of a guarded file.")
            yield file


def content_of(places: Places, path: Path, bytes_max: int) -> bytes:
    """All of a file that is not larger than that."""
    with opened(places, path) as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ToolFailed(f"{path} is larger than {bytes_max:,} bytes.")
    return content


def real_path(places: Places, path: Path) -> str:
    """Of what is there, judged. Raises ToolFailed when nothing is."""
    demand_reach(places, path, str(path), writes=False)
    with failures_about(places, path), _root(places, path) as (root, inside):
        handle, real = root.open(inside, PLAIN)
        try:
            demand_reach(places, path, _as_named(places, real), writes=False)
            if SecondNames(places).has(os.fstat(handle)):
                raise ToolFailed(f"{path} is guarded: it is another name of a guarded file.")
        finally:
            os.close(handle)
    return real


def is_second_name(places: Places, path: Path, names: SecondNames) -> bool:
    """Of a file that a search has found; what cannot be opened is none."""
    try:
        with _root(places, path) as (root, inside):
            handle, _real = root.open(inside, PLAIN)
    except OSError:
        return False
    try:
        return names.has(os.fstat(handle))
    finally:
        os.close(handle)


def is_there(places: Places, path: Path) -> bool:
    """Under that name, be it a link that leads nowhere."""
    try:
        with _spot(places, path, follows=False) as spot:
            return spot.stat() is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as refused:
        raise ToolFailed(f"{path}: {_said(refused)}.") from refused


def replace_file(places: Places, path: Path, content: bytes, *, tag: str) -> bool:
    """Put the content there, all at once or not at all, durably. True when the file is new.

    A link stays a link: what it points to is replaced. Mode and owner stay.
    """
    with failures_about(places, path), _spot(places, path, makes=True) as spot:
        before = spot.stat()
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolFailed(f"{path} is not a regular file; nothing was written.")
        if before is not None and not spot.may_write():
            raise ToolFailed(f"{path} is write-protected; nothing was written.")
        spot.replace(content, like=before, tag=tag)
    return before is None


def remove_file(places: Places, path: Path) -> None:
    """A link is removed itself."""
    with failures_about(places, path), _spot(places, path, follows=False) as spot:
        spot.remove()


def suggestion(places: Places, path: Path) -> str:
    """Names beside the missing one that look like it."""
    try:
        names = _names_beside(places, path)
    except FileNotFoundError:
        return f" Nor does the directory {path.parent}."
    except (OSError, ToolFailed):
        return ""
    lower = {name.lower(): name for name in names}
    close = likely(path.name.lower(), lower, most=SUGGESTIONS_MAX, alike=0.5)
    near = [str(path.parent / lower[name]) for name in close]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _names_beside(places: Places, path: Path) -> list[str]:
    demand_reach(places, path.parent, str(path.parent), writes=False)
    with _root(places, path.parent) as (root, inside):
        handle, real = root.open(inside, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            demand_reach(places, path.parent, _as_named(places, real), writes=False)
            with os.scandir(handle) as entries:
                return [entry.name for _, entry in zip(range(SIBLINGS_MAX), entries, strict=False)]
        finally:
            os.close(handle)


@contextlib.contextmanager
def _root(places: Places, path: Path) -> Iterator[tuple[Beneath, str]]:
    """Where the walk begins, and the path from there."""
    full = str(path)
    if is_beneath(full, places.root):
        top = places.root
    else:
        top = posixpath.dirname(full) if output_call(places, full) is not None else TOP
    with Beneath(top) as root:
        yield root, posixpath.relpath(full, top)


@contextlib.contextmanager
def _spot(
    places: Places, path: Path, *, makes: bool = False, follows: bool = True
) -> Iterator[Spot]:
    def allowed(real: str) -> None:
        demand_reach(places, path, _as_named(places, real), writes=True)

    demand_reach(places, path, str(path), writes=True)
    if makes and is_beneath(str(path), places.root):
        Path(places.root).mkdir(parents=True, exist_ok=True)
    with _root(places, path) as (root, inside):
        if inside == ".":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        with root.spot(inside, allowed, makes=makes, follows=follows) as spot:
            yield spot


def _as_named(places: Places, real: str) -> str:
    """The workspace may be reached by a link; then its files are known by its name."""
    top = os.path.realpath(places.root)
    if top == TOP or not is_beneath(real, top):
        return real
    return posixpath.normpath(posixpath.join(places.root, posixpath.relpath(real, top)))
