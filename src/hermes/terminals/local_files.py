"""The files of this machine, opened beneath a folder and never by a path that was looked at before.

See the Files port. The kernel walks the path (confined_fs.py), so a link that is put in between
leads nowhere.
"""

import errno
import os
import posixpath
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from hermes.core.errors import ToolFailed
from hermes.ports.workspace import (
    ChangedFiles,
    FileAccess,
    FileEntry,
    FileKind,
    FileStatus,
    OpenedFile,
)
from hermes.terminals.changed_files import changed_since
from hermes.terminals.confined_fs import PLAIN, ConfinedFolder, ConfinedPath, status_of
from hermes.terminals.hardlinks import linked_below

_ITSELF = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class LocalFiles:
    """See the Files port."""

    def real(self, path: str, /) -> str:
        return os.path.realpath(path)

    def status(self, path: str, /, *, follow: bool = False) -> FileStatus | None:
        try:
            return status_of(Path(path).stat(follow_symlinks=follow))
        except (OSError, ValueError):  # a name that no file can have
            return None

    def head(self, path: str, bytes_max: int, /) -> tuple[FileStatus, bytes]:
        handle = os.open(path, _ITSELF)
        try:
            status = status_of(os.fstat(handle))
            if status.kind != "file":
                return status, b""
            with os.fdopen(handle, "rb", closefd=False) as file:
                return status, file.read(bytes_max)
        finally:
            os.close(handle)

    @contextmanager
    def open(self, path: str, access: FileAccess, /) -> Iterator[OpenedFile]:
        with self._opened(path, access, PLAIN) as (handle, real):
            access.permit(real)
            status = status_of(os.fstat(handle))
            if status.kind != "file":
                code = errno.EISDIR if status.kind == "folder" else errno.ENXIO
                raise OSError(code, os.strerror(code), path)
            with os.fdopen(handle, "rb", closefd=False) as stream:
                yield OpenedFile(real=real, status=status, stream=stream)

    def look(self, path: str, access: FileAccess, /) -> tuple[str, FileStatus]:
        with self._opened(path, access, PLAIN) as (handle, real):
            access.permit(real)
            return real, status_of(os.fstat(handle))

    def look_at_all(
        self, paths: Sequence[str], access: FileAccess, /
    ) -> Sequence[FileStatus | None]:
        return [self._seen(path, access) for path in paths]

    def stands(self, path: str, access: FileAccess, /) -> bool:
        try:
            with self._spot(path, access, follows=False) as spot:
                return spot.status() is not None
        except (FileNotFoundError, NotADirectoryError):
            return False

    def replace(
        self,
        path: str,
        content: bytes,
        access: FileAccess,
        /,
        *,
        tag: str,
        like: FileStatus | None = None,
    ) -> bool:
        Path(access.beneath).mkdir(parents=True, exist_ok=True)
        with self._spot(path, access, makes=True) as spot:
            before = spot.status()
            if before is not None and before.kind != "file":
                raise ToolFailed(f"{path} is not a regular file; nothing was written.")
            if before is not None and not spot.may_write():
                raise ToolFailed(f"{path} is write-protected; nothing was written.")
            spot.replace(content, like=before or like, tag=tag)
        return before is None

    def remove(self, path: str, access: FileAccess, /) -> None:
        with self._spot(path, access, follows=False) as spot:
            spot.remove()

    def rename(self, path: str, name: str, /) -> bool:
        new = posixpath.join(posixpath.dirname(path), name)
        if not os.path.lexists(path) or os.path.lexists(new):
            return False
        Path(path).rename(new)
        return True

    def list(
        self, folder: str, /, *, limit: int, access: FileAccess | None = None
    ) -> Sequence[FileEntry]:
        if access is None:
            with os.scandir(folder) as entries:
                return [FileEntry(each.name, _kind(each)) for each in islice(entries, limit)]
        with self._opened(folder, access, _FOLDER) as (handle, real):
            access.permit(real)
            with os.scandir(handle) as entries:
                return [FileEntry(each.name, _kind(each)) for each in islice(entries, limit)]

    def linked(
        self, found: Sequence[FileStatus], below: Sequence[str], skipped: str, /
    ) -> Collection[tuple[int, int]]:
        return linked_below(found, below, skipped)

    def changed_since(self, root: str, at_ns: int, /) -> ChangedFiles:
        return changed_since(root, at_ns)

    def _seen(self, path: str, access: FileAccess) -> FileStatus | None:
        try:
            return self.look(path, access)[1]
        except OSError:
            return None

    @contextmanager
    def _opened(self, path: str, access: FileAccess, flags: int) -> Iterator[tuple[int, str]]:
        with ConfinedFolder(access.beneath) as root:
            handle, real = root.open(posixpath.relpath(path, access.beneath), flags)
        try:
            yield handle, real
        finally:
            os.close(handle)

    @contextmanager
    def _spot(
        self, path: str, access: FileAccess, *, makes: bool = False, follows: bool = True
    ) -> Iterator[ConfinedPath]:
        inside = posixpath.relpath(path, access.beneath)
        with ConfinedFolder(access.beneath) as root:
            if inside == ".":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            with root.spot(inside, access.permit, makes=makes, follows=follows) as spot:
                yield spot


def _kind(entry: "os.DirEntry[str]") -> FileKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
