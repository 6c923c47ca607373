"""The one place where tools open what a path names: beneath its root, and judged again.

A path inside of the workspace is opened beneath the workspace, any other beneath `/`. The real path
of what was found is then compared with what was named (see `demand_reach`), before a byte is read
or anything is made there.
"""

import errno
import posixpath
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import BinaryIO

from hermes.core.errors import ToolFailed
from hermes.core.grants import is_beneath
from hermes.ports.workspace import FileAccess, Files, FileStatus, WorkspacePaths
from hermes.text.similar import likely
from hermes.tools.files.reachable import WORKSPACE, demand_reach, is_in_scratch, output_call

TOP = "/"
FOREIGN = " /tmp is a place of this conversation alone: files of other programs are not there."
SIBLINGS_MAX = 2_000
SUGGESTIONS_MAX = 3
# Where a person keeps keys and what was typed: a second name of such a file is as guarded.
CREDENTIALS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".npmrc"),
    *(".pypirc", ".git-credentials", ".password-store", ".vault-token", ".config/gcloud"),
    *(".config/gh", ".bash_history", ".zsh_history", ".python_history"),
)
SYSTEM = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh")

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


class JudgedFiles:
    """The files of a workspace, as far as a tool may have them. Blocking: use it in a thread. All
    methods raise ToolFailed with a sentence for the model."""

    def __init__(self, files: Files, places: WorkspacePaths) -> None:
        self._files = files
        self.places = places

    @contextmanager
    def opened(self, path: PurePath) -> Iterator[BinaryIO]:
        """A regular file to read. A FIFO or a device is refused instead of waited for."""
        demand_reach(self.places, path, str(path), writes=False)
        with self._failures_about(path):
            try:
                opening = self._files.open(str(path), self._access(path))
                with opening as file:
                    self._demand_one_name(path, file.status)
                    yield file.stream
            except IsADirectoryError as folder:
                is_folder = f"{path} is a directory. List it with search_files or `ls`."
                raise ToolFailed(is_folder) from folder

    def content(self, path: PurePath, bytes_max: int) -> bytes:
        """All of a file that is not larger than that."""
        with self.opened(path) as file:
            content = file.read(bytes_max + 1)
        if len(content) > bytes_max:
            raise ToolFailed(f"{path} is larger than {bytes_max:,} bytes.")
        return content

    def real_path(self, path: PurePath) -> str:
        """Of what is there, judged."""
        demand_reach(self.places, path, str(path), writes=False)
        with self._failures_about(path):
            real, status = self._files.look(str(path), self._access(path))
        self._demand_one_name(path, status)
        return real

    def is_there(self, path: PurePath) -> bool:
        """Under that name, be it a link that leads nowhere."""
        demand_reach(self.places, path, str(path), writes=True)
        with self._failures_about(path):
            return self._files.stands(str(path), self._access(path, writes=True))

    def replace(self, path: PurePath, content: bytes, *, tag: str) -> bool:
        """Put the content there, all at once or not at all, durably. True when the file is new."""
        demand_reach(self.places, path, str(path), writes=True)
        with self._failures_about(path):
            access = self._access(path, writes=True)
            return self._files.replace(str(path), content, access, tag=tag)

    def remove(self, path: PurePath) -> None:
        """A link is removed itself."""
        demand_reach(self.places, path, str(path), writes=True)
        with self._failures_about(path):
            self._files.remove(str(path), self._access(path, writes=True))

    def second_names(self, paths: Sequence[str]) -> Collection[str]:
        """Which of these are other names of guarded files; what cannot be opened is none."""
        inside = [path for path in paths if is_beneath(path, self.places.root)]
        outside = [path for path in paths if not is_beneath(path, self.places.root)]
        found: dict[str, FileStatus] = {}
        for several, top in ((inside, self.places.root), (outside, TOP)):
            access = FileAccess(beneath=top, permit=lambda _real: None)
            seen = self._files.look_at_all(several, access) if several else ()
            both = zip(several, seen, strict=True)
            found |= {path: status for path, status in both if status is not None}
        guarded = self._guarded(tuple(found.values()))
        return {path for path, status in found.items() if status.id in guarded}

    def _demand_one_name(self, path: PurePath, status: FileStatus) -> None:
        if self._guarded((status,)):
            raise ToolFailed(f"{path} is guarded: it is another name of a guarded file.")

    def _guarded(self, found: Sequence[FileStatus]) -> Collection[tuple[int, int]]:
        """The ids of those that are guarded by another name than the one that was used."""
        several = [each for each in found if each.names > 1 and each.kind == "file"]
        if not several:
            return ()
        home = self.places.home
        own = (*self.places.guarded, *(f"{home}/{name}" for name in CREDENTIALS))
        return self._files.linked(several, (*own, *SYSTEM), WORKSPACE)

    def _access(self, path: PurePath, *, writes: bool = False) -> FileAccess:
        """Where the walk begins, and what it may come to."""
        full = str(path)
        if is_beneath(full, self.places.root):
            top = self.places.root
        elif is_in_scratch(self.places, full):
            top = self.places.scratch
        else:
            is_output = output_call(self.places, full) is not None
            top = posixpath.dirname(full) if is_output else TOP

        def permit(real: str) -> None:
            demand_reach(self.places, path, self._as_named(real), writes=writes)

        return FileAccess(beneath=top, permit=permit)

    def _as_named(self, real: str) -> str:
        """The workspace may be reached by a link; then its files are known by its name."""
        root = self.places.root
        top = self._files.real(root)
        if top == TOP or not is_beneath(real, top):
            return real
        return posixpath.normpath(posixpath.join(root, posixpath.relpath(real, top)))

    @contextmanager
    def _failures_about(self, path: PurePath) -> Iterator[None]:
        """What the operating system refuses, as a sentence for the model."""
        try:
            yield
        except FileNotFoundError as missing:
            hint = self._suggestion(path) or self._foreign(path)
            raise ToolFailed(f"{path} does not exist.{hint}") from missing
        except OSError as refused:
            said = _SAID.get(refused.errno or 0, refused.strerror or str(refused))
            raise ToolFailed(f"{path}: {said}.") from refused

    def _foreign(self, path: PurePath) -> str:
        return FOREIGN if is_in_scratch(self.places, str(path)) else ""

    def _suggestion(self, path: PurePath) -> str:
        """Names beside the missing one that look like it."""
        folder = path.parent
        try:
            demand_reach(self.places, folder, str(folder), writes=False)
            access = self._access(folder)
            beside = self._files.list(str(folder), limit=SIBLINGS_MAX, access=access)
        except FileNotFoundError:
            return f" Nor does the directory {folder}.{self._foreign(path)}"
        except (OSError, ToolFailed):
            return ""
        lower = {entry.name.lower(): entry.name for entry in beside}
        close = likely(path.name.lower(), lower, most=SUGGESTIONS_MAX, alike=0.5)
        near = [str(folder / lower[name]) for name in close]
        return f" Did you mean {' or '.join(near)}?" if near else ""
