"""lock.json: the digests of approved skill trees, and their earlier versions.

Writing this file commits a change. A tree is written and flushed under its digest first, so after a
crash either the old or the new version is active, and both are kept.
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

from hermes.core.errors import Rejected
from hermes.skills.tree import Tree, digest_of, read_tree, remove_tree, write_tree
from hermes.views.files import flush_folder, make_folder, unwritable, whole_file

LOCK = "lock.json"
STORE = ".store"
GUARD = ".guard"
BYTES_MAX = 4_000_000
PAST_MAX = 20  # versions that undo can go back to

STORED = re.compile(rf"/{re.escape(STORE)}/([0-9a-f]{{64}})/([a-z0-9-]+)")
PinnedSource = Literal["installed", "agent"]


class SkillVersion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of a skill. `sha256` is "" for a version in which the skill did not exist."""

    sha256: str
    at: float
    why: str = ""
    origin: str = ""


class Pin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The active version, and the earlier ones, latest last."""

    now: SkillVersion
    past: tuple[SkillVersion, ...] = ()
    undone: tuple[SkillVersion, ...] = ()
    undone_by: str = ""  # id of the request for the last undo, which makes it idempotent


class PinFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    installed: dict[str, Pin] = {}
    agent: dict[str, Pin] = {}
    disabled: tuple[str, ...] = ()

    def of(self, source: PinnedSource) -> Mapping[str, Pin]:
        return self.installed if source == "installed" else self.agent

    def pinned(self, source: PinnedSource, name: str, pin: Pin) -> "PinFile":
        pins = {**self.of(source), name: pin}
        if source == "installed":
            return replace(self, installed=pins)
        return replace(self, agent=pins)


def moved(pin: Pin | None, version: SkillVersion) -> Pin:
    """Return the pin with a new active version."""
    if pin is None:
        pin = Pin(now=SkillVersion(sha256="", at=version.at))
    return Pin(now=version, past=(*pin.past, pin.now)[-PAST_MAX:], undone=pin.undone)


def stepped_back(pin: Pin, by: str) -> Pin:
    """Return the pin with the previous version active. Raise Rejected if there is none."""
    if by and pin.undone_by == by:
        return pin
    if not pin.past:
        raise Rejected("there is nothing to undo")
    undone = (*pin.undone, pin.now)[-PAST_MAX:]
    return Pin(now=pin.past[-1], past=pin.past[:-1], undone=undone, undone_by=by)


class Pins:
    """The store of trees, and the lock file that says which of them are active."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / LOCK

    def read(self) -> PinFile:
        """Return the lock. Raise Rejected if it is damaged; then no pinned skill is loaded."""
        try:
            with self._file.open("rb") as file:
                raw = file.read(BYTES_MAX + 1)
        except (FileNotFoundError, NotADirectoryError):
            return PinFile()
        except OSError as refused:
            raise Rejected(f"{self._file} cannot be read ({refused.strerror})") from refused
        try:
            return msgspec.json.decode(raw, type=PinFile)
        except msgspec.MsgspecError as broken:
            raise Rejected(
                f"{self._file} is damaged ({broken}). Put it back from a backup, or remove it and "
                "install the skills again"
            ) from broken

    def write(self, lock: PinFile) -> None:
        """Replace the lock file atomically. Call it inside `changing` only."""
        content = msgspec.json.format(msgspec.json.encode(lock), indent=1) + b"\n"
        whole_file(self._file, content)

    @contextmanager
    def changing(self) -> Iterator[PinFile]:
        """Lock the home against other processes, and yield the current lock file."""
        try:
            make_folder(self._folder)
            handle = os.open(self._folder / GUARD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as refused:
            raise unwritable(self._folder, refused) from refused
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self.read()
        finally:
            os.close(handle)

    def folder_of(self, name: str, digest: str) -> Path:
        """Return the folder of a tree: the digest, then the skill's own name, as the format
        requires."""
        return self._folder / STORE / digest / name

    def keep(self, name: str, tree: Tree) -> str:
        """Store a tree and return its digest; durable on return. Idempotent."""
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
            raise unwritable(target, refused) from refused
        return digest

    def tree(self, name: str, digest: str) -> Tree:
        """Return exactly the approved bytes. Raise Rejected if the files are missing or changed."""
        folder = self.folder_of(name, digest)
        if not folder.is_dir() or folder.is_symlink() or folder.parent.is_symlink():
            raise Rejected(f"the files of {name} are gone from {folder}. Install it again")
        with suppress(OSError):
            for compiled in list(folder.rglob("__pycache__")):
                remove_tree(compiled)  # such files would run in place of the approved ones
        tree = read_tree(folder, litter=True)
        if digest_of(tree) != digest:
            raise Rejected(
                f"{name} was changed after it was approved and is not loaded. See: hermes skills "
                f"audit. To use what you approved, install it again"
            )
        return tree

    def vouch(self, command: str) -> None:
        """Raise Rejected if a command names skill files that are not the active version."""
        named = set(STORED.findall(command))
        lock = self.read() if named else PinFile()
        in_force = {
            (p.now.sha256, n) for pins in (lock.installed, lock.agent) for n, p in pins.items()
        }
        for digest, name in named:
            if (digest, name) not in in_force:
                raise Rejected(f"this version of {name} is not approved; nothing of it is run")
            self.tree(name, digest)

    def sweep(self, wanted: frozenset[str]) -> None:
        """Remove trees that neither the lock nor a proposal refers to. Call it inside `changing`
        only."""
        folder = self._folder / STORE
        if not folder.is_dir():
            return
        for each in folder.iterdir():
            if each.name not in wanted:
                remove_tree(each)


def named_in(lock: PinFile) -> frozenset[str]:
    pins = (*lock.installed.values(), *lock.agent.values())
    versions = (v for pin in pins for v in (pin.now, *pin.past, *pin.undone))
    return frozenset(version.sha256 for version in versions)
