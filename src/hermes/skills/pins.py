"""lock.json: which trees the owner has said yes to, by their digests, and what was there before.

The file is the one thing that a change commits. A tree is written and flushed under its digest
first, so at any instant either the old version is in force or the new one, and both are kept.
"""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected, StoreFailed
from hermes.skills.tree import Tree, digest_of, read_tree, remove_tree, write_tree
from hermes.views.files import flush_folder, make_folder, whole_file

LOCK = "lock.json"
STORE = ".store"
GUARD = ".guard"
BYTES_MAX = 4_000_000
PAST_MAX = 20  # versions that an undo can go back

STORED = re.compile(rf"/{re.escape(STORE)}/([0-9a-f]{{64}})/([a-z0-9-]+)")
PinnedSource = Literal["installed", "agent"]


class Version(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`sha256` is "" where the skill was not there."""

    sha256: str
    at: float
    why: str = ""
    origin: str = ""


class Pin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is in force, and what was before, the latest last."""

    now: Version
    past: tuple[Version, ...] = ()
    undone: tuple[Version, ...] = ()
    undone_by: str = ""  # who asked for the last undo, so that a second run is none


class Lock(Struct, frozen=True, kw_only=True, omit_defaults=True):
    installed: dict[str, Pin] = {}
    agent: dict[str, Pin] = {}
    disabled: tuple[str, ...] = ()

    def of(self, source: PinnedSource) -> Mapping[str, Pin]:
        return self.installed if source == "installed" else self.agent

    def pinned(self, source: PinnedSource, name: str, pin: Pin) -> "Lock":
        pins = {**self.of(source), name: pin}
        if source == "installed":
            return replace(self, installed=pins)
        return replace(self, agent=pins)


def moved(pin: Pin | None, version: Version) -> Pin:
    """With a new version in force."""
    if pin is None:
        pin = Pin(now=Version(sha256="", at=version.at))
    return Pin(now=version, past=(*pin.past, pin.now)[-PAST_MAX:], undone=pin.undone)


def stepped_back(pin: Pin, by: str) -> Pin:
    """With the version before in force. Raises Rejected when there is none."""
    if by and pin.undone_by == by:
        return pin
    if not pin.past:
        raise Rejected("there is nothing to undo")
    undone = (*pin.undone, pin.now)[-PAST_MAX:]
    return Pin(now=pin.past[-1], past=pin.past[:-1], undone=undone, undone_by=by)


class Pins:
    """The folder of trees and the file that says which of them count."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / LOCK

    def read(self) -> Lock:
        """Raises Rejected when it cannot be trusted; then no pinned skill is loaded."""
        try:
            with self._file.open("rb") as file:
                raw = file.read(BYTES_MAX + 1)
        except (FileNotFoundError, NotADirectoryError):
            return Lock()
        except OSError as refused:
            raise Rejected(f"{self._file} cannot be read ({refused.strerror})") from refused
        try:
            return msgspec.json.decode(raw, type=Lock)
        except msgspec.MsgspecError as broken:
            raise Rejected(
                f"{self._file} is damaged ({broken}). Put it back from a backup, or remove it and "
                "install the skills again"
            ) from broken

    def write(self, lock: Lock) -> None:
        """In one step. Call it inside `changing` only."""
        content = msgspec.json.format(msgspec.json.encode(lock), indent=1) + b"\n"
        whole_file(self._file, content)

    @contextmanager
    def changing(self) -> Iterator[Lock]:
        """One at a time, of all processes on this home."""
        try:
            make_folder(self._folder)
            handle = os.open(self._folder / GUARD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as refused:
            problem = f"{self._folder} cannot be written to ({refused.strerror})"
            raise StoreFailed(problem) from refused
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self.read()
        finally:
            os.close(handle)

    def folder_of(self, name: str, digest: str) -> Path:
        """Named by the digest, with the skill's own name inside, as the format wants it."""
        return self._folder / STORE / digest / name

    def keep(self, name: str, tree: Tree) -> str:
        """Durable when it returns the digest. Keeping the same tree again changes nothing."""
        digest = digest_of(tree)
        target = self.folder_of(name, digest)
        if target.parent.exists():
            with suppress(Rejected):
                if digest_of(read_tree(target, litter=True)) == digest:
                    return digest
            remove_tree(target.parent)
        half = self._folder / STORE / f".{digest}.{os.getpid()}.half"
        try:
            remove_tree(half)
            write_tree(tree, half / name)
            flush_folder(half)
            half.rename(target.parent)
            flush_folder(target.parent.parent)
        except OSError as refused:
            raise StoreFailed(f"{target} cannot be written ({refused.strerror})") from refused
        return digest

    def tree(self, name: str, digest: str) -> Tree:
        """Exactly the bytes that were approved, or Rejected."""
        folder = self.folder_of(name, digest)
        if not folder.is_dir() or folder.is_symlink() or folder.parent.is_symlink():
            raise Rejected(f"the files of {name} are gone from {folder}. Install it again")
        with suppress(OSError):
            for compiled in list(folder.rglob("__pycache__")):
                remove_tree(compiled)  # it would be run in the place of what was approved
        tree = read_tree(folder, litter=True)
        if digest_of(tree) != digest:
            raise Rejected(
                f"{name} was changed after it was approved and is not loaded. See: hermes skills "
                f"audit. To use what you approved, install it again"
            )
        return tree

    def vouch(self, command: str) -> None:
        """Raises Rejected where a command names files of a skill that are not those in force."""
        named = set(STORED.findall(command))
        lock = self.read() if named else Lock()
        in_force = {
            (p.now.sha256, n) for pins in (lock.installed, lock.agent) for n, p in pins.items()
        }
        for digest, name in named:
            if (digest, name) not in in_force:
                raise Rejected(f"this version of {name} is not approved; nothing of it is run")
            self.tree(name, digest)

    def sweep(self, wanted: frozenset[str]) -> None:
        """Remove trees that neither the lock nor a proposal names. Inside `changing` only."""
        folder = self._folder / STORE
        if not folder.is_dir():
            return
        for each in folder.iterdir():
            if each.name not in wanted:
                remove_tree(each)


def named_in(lock: Lock) -> frozenset[str]:
    pins = (*lock.installed.values(), *lock.agent.values())
    versions = (v for pin in pins for v in (pin.now, *pin.past, *pin.undone))
    return frozenset(version.sha256 for version in versions)
