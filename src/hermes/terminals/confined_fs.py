"""Files beneath a directory: the kernel walks the path and opens it in one step.

Nothing is looked at first and opened later, so nobody can put a link in between. `openat2` refuses
what leads out and the links of /proc that are no paths. Where there is none (other systems, kernels
before 5.6, a filter that does not know it) we walk ourselves, one component after the other, and
follow no link at all: the real path is found out before, and what has become a link since is
refused.
"""

import ctypes
import errno
import os
import posixpath
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Self

from hermes.ports.workspace import FileKind, FileStatus

OPENAT2 = 437
NO_MAGIC_LINKS, BENEATH, IN_ROOT = 0x02, 0x08, 0x10
TRIES_MAX = 100  # a rename elsewhere while `..` was walked: the kernel asks us to try again
LINKS_MAX = 40
FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | (os.O_PATH if sys.platform == "linux" else os.O_RDONLY)
PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
TOP = "/"


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class ConfinedFolder:
    """A root that is held open. Paths are relative to it; below `/` every link may be followed.

    All methods raise OSError: EXDEV for what leads out, ELOOP for a link that is not followed.
    """

    def __init__(self, root: str, *, kernel: bool | None = None) -> None:
        self._kernel = kernel_walks() if kernel is None else kernel
        self._root = os.path.realpath(root)
        self._handle = os.open(root, FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        os.close(self._handle)

    def open(self, path: str, flags: int) -> tuple[int, str]:
        """A descriptor, and the real path of what it stands for."""
        path = path or "."
        if not self._kernel:
            return self._walked(path, flags)
        rule = NO_MAGIC_LINKS | (IN_ROOT if self._root == TOP else BENEATH)
        handle = _openat2(self._handle, path, flags, rule)
        try:
            return handle, _real(handle)
        except OSError:
            os.close(handle)
            raise

    def _walked(self, path: str, flags: int) -> tuple[int, str]:
        real = os.path.realpath(posixpath.join(self._root, path))
        inside = posixpath.relpath(real, self._root)
        if inside == ".." or inside.startswith("../"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
        *parts, last = inside.split("/")
        handle = os.dup(self._handle)
        try:
            for part in parts:
                inner = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=handle)
                os.close(handle)
                handle = inner
            return os.open(last, flags | os.O_NOFOLLOW, dir_fd=handle), real
        finally:
            os.close(handle)

    @contextmanager
    def spot(
        self,
        path: str,
        allowed: Callable[[str], None],
        *,
        makes: bool = False,
        follows: bool = True,
    ) -> Iterator["ConfinedPath"]:
        """Where a file is or would be. A link that stands there is followed, if it stays inside.

        `allowed` hears the real path before anything is made there, and may raise."""
        for _ in range(LINKS_MAX):
            folder, name = posixpath.split(path)
            with self._folder(folder, name, allowed, makes=makes) as handle:
                leads_to = _link(name, handle) if follows else ""
                if not leads_to:
                    yield ConfinedPath(handle, name)
                    return
            if leads_to.startswith("/") and self._root != TOP:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
            path = posixpath.join(folder, leads_to).lstrip("/")
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    @contextmanager
    def _folder(
        self, folder: str, name: str, allowed: Callable[[str], None], *, makes: bool
    ) -> Iterator[int]:
        """The directory; with `makes` also those above it that are missing."""
        missing: list[str] = []
        while True:
            try:
                handle, real = self.open(folder, FOLDER)
            except FileNotFoundError:
                if not makes or not folder:
                    raise
                folder, last = posixpath.split(folder)
                missing.insert(0, last)
            else:
                break
        with ExitStack() as held:
            held.callback(os.close, handle)
            allowed(posixpath.join(real, *missing, name))
            for each in missing:
                with suppress(FileExistsError):  # a link that somebody put there is refused below
                    os.mkdir(each, dir_fd=handle)
                handle = os.open(each, FOLDER | os.O_NOFOLLOW, dir_fd=handle)
                held.callback(os.close, handle)
            yield handle


class ConfinedPath:
    """A name in a directory that is held open; a link is never followed here."""

    def __init__(self, folder: int, name: str) -> None:
        self._folder = folder
        self._name = name

    def status(self) -> FileStatus | None:
        try:
            return status_of(os.stat(self._name, dir_fd=self._folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def may_write(self) -> bool:
        """Whether it is write-protected is asked of the mode, and for us, not for root."""
        return os.access(self._name, os.W_OK, dir_fd=self._folder)

    def replace(self, content: bytes, *, like: FileStatus | None, tag: str) -> None:
        """All at once or not at all, durably. The new content waits beside the file under a name
        made of `tag`, so that a call that is repeated after a crash tidies up after itself."""
        waiting = f".{tag}.hermes-new"
        self._unlink(waiting)
        try:
            self._write(waiting, content, like)
            os.rename(waiting, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError:
            self._unlink(waiting)
            raise
        self._flush()

    def remove(self) -> None:
        os.unlink(self._name, dir_fd=self._folder)
        self._flush()

    def _write(self, name: str, content: bytes, like: FileStatus | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = 0o666 if like is None else 0o600
        with os.fdopen(os.open(name, flags, mode, dir_fd=self._folder), "wb") as file:
            if like is not None:
                if os.geteuid() == 0:
                    os.fchown(file.fileno(), *like.owner)
                os.fchmod(file.fileno(), like.mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _unlink(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._folder)
        except FileNotFoundError:
            return

    def _flush(self) -> None:
        """A descriptor that only names the directory cannot be flushed."""
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def status_of(found: os.stat_result) -> FileStatus:
    return FileStatus(
        kind=_KINDS.get(stat.S_IFMT(found.st_mode), "other"),
        size=found.st_size,
        mode=stat.S_IMODE(found.st_mode),
        owner=(found.st_uid, found.st_gid),
        modified_ns=found.st_mtime_ns,
        changed_ns=found.st_ctime_ns,
        names=found.st_nlink,
        id=(found.st_dev, found.st_ino),
    )


_KINDS: Mapping[int, FileKind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


@cache
def kernel_walks() -> bool:
    """Is there an `openat2`, and a /proc that names what it opened?"""
    if sys.platform != "linux":
        return False
    try:
        handle = _openat2(_AT_FDCWD, "/", FOLDER, NO_MAGIC_LINKS)
    except OSError:
        return False
    try:
        return _real(handle) == TOP
    except OSError:
        return False
    finally:
        os.close(handle)


_AT_FDCWD = -100


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _openat2(folder: int, path: str, flags: int, rule: int) -> int:
    name = os.fsencode(path)
    how = _How(flags=flags, mode=0, resolve=rule)
    for _ in range(TRIES_MAX):
        handle = _library().syscall(
            ctypes.c_long(OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(name),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if handle >= 0:
            return int(handle)
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def _real(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())


def _link(name: str, folder: int) -> str:
    """Where a link leads; empty when there is none."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as other:
        if other.errno in (errno.EINVAL, errno.ENOENT):
            return ""
        raise
