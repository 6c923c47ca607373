"""The one place where file tools turn a model's words into a file: resolve, open, replace.

Confining all of it below a root belongs here and nowhere else.
"""

import contextlib
import difflib
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from hermes.core.errors import ToolFailed

WORKDIR = "workdir"  # the fact under which a session remembers where it is
SIBLINGS_MAX = 2_000
SUGGESTIONS_MAX = 3

_SAID = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "too many symbolic links",
    errno.EEXIST: "a part of the path is a file, not a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EISDIR: "it is a directory",
}


class Places(Struct, frozen=True, kw_only=True):
    """Where a session begins, and what `~` means. Both absolute."""

    root: str
    home: str
    guarded: tuple[str, ...] = ()  # our own files, which no tool may name


def workdir_of(places: Places, facts: Mapping[str, str]) -> tuple[str, str]:
    """The session's directory, and a note when the one it remembers is gone."""
    remembered = facts.get(WORKDIR, "")
    if not remembered or remembered == places.root:
        return places.root, ""
    if Path(remembered).is_dir():
        return remembered, ""
    return places.root, f"the working directory {remembered} is gone; this ran in {places.root}"


def resolved(places: Places, facts: Mapping[str, str], path: str) -> Path:
    """Absolute, relative to the session's directory, `~` expanded; links are not followed here."""
    if "\x00" in path or not path.strip():
        raise ToolFailed("path: it is empty or contains a NUL character.")
    if path == "~" or path.startswith("~/"):
        path = places.home + path[1:]
    base, _note = workdir_of(places, facts)
    return Path(os.path.normpath(Path(base) / path))


@contextlib.contextmanager
def failures_about(path: Path) -> Iterator[None]:
    """What the operating system refuses, as a sentence for the model."""
    try:
        yield
    except FileNotFoundError as missing:
        raise ToolFailed(f"{path} does not exist.{suggestion(path)}") from missing
    except OSError as refused:
        said = _SAID.get(refused.errno or 0, refused.strerror or str(refused))
        raise ToolFailed(f"{path}: {said}.") from refused


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file to read. A FIFO or a device is refused instead of waited for."""
    with failures_about(path):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if stat.S_ISDIR(mode):
                raise ToolFailed(f"{path} is a directory. List it with search_files or `ls`.")
            if not stat.S_ISREG(mode):
                raise ToolFailed(f"{path} is not a regular file (a device, pipe or socket).")
            yield file


def content_of(path: Path, bytes_max: int) -> bytes:
    """All of a file that is not larger than that."""
    with opened(path) as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ToolFailed(f"{path} is larger than {bytes_max:,} bytes.")
    return content


def replace_file(path: Path, content: bytes, *, tag: str) -> bool:
    """Put the content there, all at once or not at all, durably. True when the file is new.

    A link stays a link: what it points to is replaced. Mode and owner stay. The new content waits
    beside the file under a name made of `tag`, so that a call that is repeated after a crash
    tidies up after itself.
    """
    with failures_about(path):
        target = Path(os.path.realpath(path))
        before = target.stat() if target.exists() else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolFailed(f"{path} is not a regular file; nothing was written.")
        if before is not None and not os.access(target, os.W_OK):
            raise ToolFailed(f"{path} is write-protected; nothing was written.")
        target.parent.mkdir(parents=True, exist_ok=True)
        waiting = target.with_name(f".{tag}.hermes-new")
        waiting.unlink(missing_ok=True)
        try:
            _write_new(waiting, content, before)
            waiting.replace(target)
        except OSError:
            waiting.unlink(missing_ok=True)
            raise
        _flush_directory(target.parent)
    return before is None


def remove_file(path: Path) -> None:
    with failures_about(path):
        path.unlink()
        _flush_directory(path.parent)


def suggestion(path: Path) -> str:
    """Names beside the missing one that look like it."""
    parent = path.parent
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for _, entry in zip(range(SIBLINGS_MAX), entries, strict=False)]
    except OSError:
        return f" Nor does the directory {parent}." if not parent.exists() else ""
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(path.name.lower(), lower, n=SUGGESTIONS_MAX, cutoff=0.5)
    near = [str(parent / lower[name]) for name in close]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _write_new(path: Path, content: bytes, like: os.stat_result | None) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(handle, "wb") as file:
        if like is not None:
            if os.geteuid() == 0:
                os.fchown(handle, like.st_uid, like.st_gid)
            os.fchmod(handle, stat.S_IMODE(like.st_mode))
        file.write(content)
        file.flush()
        os.fsync(handle)


def _flush_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
