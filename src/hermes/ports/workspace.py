"""The port of a workspace: the files and the commands of one place.

The model has two hands, one for files and one for commands, and both must work in the same world.
So whoever implements a place implements both sides: this machine, a container, a host behind SSH.

`Files` is blocking: call it from a thread. `Terminal` is asynchronous, because commands take long.
Both raise ToolFailed with a sentence when the place cannot be reached; they never fall back to the
gateway's own disk or shell.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, Literal, Protocol

from msgspec import Struct

from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import Terminal

FileKind = Literal["file", "folder", "link", "other"]


class WorkspaceManifest(Struct, frozen=True, kw_only=True):
    """What a kind of workspace is, and what it can do beyond the port."""

    name: str  # as `terminal.backend` names it
    boxes: bool = False  # it can put a sandbox around each command
    hibernates: bool = False  # it can sleep while it is idle, and wakes up with the next call
    snapshots: bool = False  # its files can be saved as a whole, and restored
    pipes: bool = False  # its commands can talk to us through named pipes
    lifetime_s: float | None = None  # after which the place ends by itself; None: never

    @property
    def cannot(self) -> tuple[str, ...]:
        """What it cannot do, in words."""
        able = {
            "box": self.boxes,
            "hibernate": self.hibernates,
            "snapshot": self.snapshots,
            "live without end": self.lifetime_s is None,
        }
        return tuple(word for word, can in able.items() if not can)


class WorkspacePaths(Struct, frozen=True, kw_only=True):
    """Where a session begins, what `~` means, and what is guarded, in that place. All absolute."""

    root: str
    home: str
    guarded: tuple[str, ...] = ()  # our own files, which no tool may open; by real path too
    scratch: str = ""  # where the scratch places are, or that of one conversation; "": none


class FileStatus(Struct, frozen=True, kw_only=True):
    """A file as it was just seen."""

    kind: FileKind
    size: int = 0
    mode: int = 0  # permission bits
    owner: tuple[int, int] = (0, 0)  # user and group
    modified_ns: int = 0
    changed_ns: int = 0  # a program cannot set this one
    names: int = 1  # hard links to it
    id: tuple[int, int] = (0, 0)  # device and inode: the same for all names of one file


class FileAccess(Struct, frozen=True, kw_only=True):
    """How far a path may lead. Links are followed while they stay beneath that folder; below `/`,
    all of them. `permit` is told the real path of what was found, before anything is read or
    made there; it may raise."""

    beneath: str
    permit: Callable[[str], None]


class OpenedFile(Struct, frozen=True, kw_only=True):
    """A regular file, open for reading."""

    real: str  # the path of what was opened, without any link
    status: FileStatus
    stream: BinaryIO


class FileEntry(Struct, frozen=True):
    """One name in a folder; a link is a link, wherever it leads."""

    name: str
    kind: FileKind


class ChangedFiles(Struct, frozen=True, kw_only=True):
    """What was changed below a folder."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # as a whole
    settings: tuple[str, ...] = ()  # of git: what it obeys in a repository


class Files(Protocol):
    """The files of a place. Paths are absolute, and mean what they mean there.

    Methods raise OSError with the errno of that place: EXDEV for what leads out of its access,
    ELOOP for a link that is not followed, EISDIR for a folder, ENXIO for a device, pipe or socket.
    Between judging a path and using it nothing can be swapped (TOCTOU): what `permit` was told is
    what is opened, replaced or removed.
    """

    def real(self, path: str, /) -> str:
        """The path without links, as far as it exists."""

    def status(self, path: str, /, *, follow: bool = False) -> FileStatus | None:
        """None when nothing is there, or nothing that can be looked at. Never raises OSError."""

    def head(self, path: str, bytes_max: int, /) -> tuple[FileStatus, bytes]:
        """The beginning of what stands at that real path: a link is refused, and of what is not a
        regular file there are no bytes. Never waits for a pipe."""

    def open(self, path: str, access: FileAccess, /) -> AbstractContextManager[OpenedFile]:
        """A regular file. Never waits for a pipe."""

    def look(self, path: str, access: FileAccess, /) -> tuple[str, FileStatus]:
        """The real path and the state of a file or a folder."""

    def look_at_all(
        self, paths: Sequence[str], access: FileAccess, /
    ) -> Sequence[FileStatus | None]:
        """Look at many at once, as a place far away does in one round trip; None for what cannot
        be opened. `permit` is told of each."""

    def stands(self, path: str, access: FileAccess, /) -> bool:
        """Is there something under that name, be it a link that leads nowhere?"""

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
        """Put the content there, all at once or not at all, durably. Return True when the file is
        new. Missing folders are made. A link stays a link: what it leads to is replaced. Mode and
        owner stay; a new file gets those of `like`. The new content waits under a name that is made
        of `tag`, so that a call that is repeated after a crash tidies up after itself. Raises
        ToolFailed for what is write-protected or is not a regular file."""

    def remove(self, path: str, access: FileAccess, /) -> None:
        """A link is removed itself."""

    def rename(self, path: str, name: str, /) -> bool:
        """Give it another name in its folder. False when that name is taken, or nothing is
        there."""

    def list(
        self, folder: str, /, *, limit: int, access: FileAccess | None = None
    ) -> Sequence[FileEntry]:
        """At most so many names, in no order."""

    def linked(
        self, found: Sequence[FileStatus], below: Sequence[str], skipped: str, /
    ) -> Collection[tuple[int, int]]:
        """The ids of those files that have another name below one of these paths (hard links).
        Folders called `skipped` are not entered. Where there is too much to compare, all of
        them."""

    def changed_since(self, root: str, at_ns: int, /) -> ChangedFiles:
        """By change times, within a limit: a folder that it does not reach counts as changed.
        Links are not followed."""


class FileSearch(Struct, frozen=True, kw_only=True):
    """What to search for, and where. It runs as a command with that id, so that it can be stopped,
    in a box that can change nothing."""

    id: CallId
    session: SessionKey
    target: Literal["content", "files"]
    pattern: str  # a regular expression of one line, or a glob of names
    where: str  # a real path, or "./": the working directory
    workdir: str
    workspace: str = ""  # where the owner's chat came from, in place of the usual one
    scratch: str = ""  # of the conversation, on the disk
    glob: str = ""  # only these files
    limit: int
    timeout_s: float
    hidden: tuple[str, ...] = ()  # names that are left out, wherever they are
    guarded: tuple[str, ...] = ()  # paths that are left out


class SearchMatch(Struct, frozen=True):
    """A line of a file; or the file alone, then the line is 0."""

    path: str  # from the working directory, or absolute, as `where` is
    line: int = 0
    text: str = ""


class SearchFound(Struct, frozen=True, kw_only=True):
    matches: tuple[SearchMatch, ...] = ()
    failed: bool = False
    said: str = ""  # by the program that searched, when it failed
    cut: bool = False  # its time was over
    took_s: float = 0.0


class Workspace(Protocol):
    """One place. `places` are its own facts, with which the policy judges."""

    manifest: WorkspaceManifest
    places: WorkspacePaths
    files: Files
    terminal: Terminal

    async def search(self, search: FileSearch, /) -> SearchFound:
        """Follow no link, skip what .gitignore names and what is binary or too large. A search that
        was lost in a crash is made again under the same id. Raises ToolFailed."""

    async def close(self) -> None:
        """Let go of the place. What runs there goes on."""
