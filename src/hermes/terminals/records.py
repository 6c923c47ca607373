"""What the disk knows of one command: the folder calls/<call id>/, and the state it proves.

Every fact is a file that appears whole (a rename, or O_EXCL with an end mark). Nothing here is
flushed by us: a killed process loses nothing that it has written, and after a crash of the machine
the boot id differs, so that a missing file proves nothing any more and the answer is Lost.
"""

import contextlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId
from hermes.ports.terminal import CommandLaunch, CommandRunning, Cut, Ended, Lost, Pending, State
from hermes.terminals.alive import Processes
from hermes.terminals.orders import END_MARK

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
OF_SCRIPT = ".script"  # ends the name of the folder that a script has beside its own
GONE = ".gone-"  # a folder on its way out; its facts count no more
TORN_S_MAX = 2.0  # a wrapper needs microseconds between making `begun` and filling it
NOTE_BYTES_MAX = 1024 * 1024
PATH_BYTES_MAX = 4096
CROWDED_KEEP_S = 3600.0  # younger than this stays even when there is too much
CROWDED_TIMES = 2  # this many times too much, and only what is fresh stays
FRESH_KEEP_S = 300.0


class Meta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The launch, and the clock by which it is timed: monotonic, so it holds within one boot."""

    launch: CommandLaunch
    boot: str
    at: float
    deadline: float | None = None


class Begun(Struct, frozen=True):
    """A wrapper got the gate: it runs the command."""

    pid: int
    noted: str


class Barred(Struct, frozen=True):
    """We got the gate first: no wrapper will ever run the command."""

    cut: Cut


class Torn(Struct, frozen=True):
    """The gate is taken; by whom is not written yet."""

    age_s: float


Gate = Begun | Barred | Torn

_metas = msgspec.json.Decoder(Meta)


class CallFolder:
    """The files of one call."""

    def __init__(self, calls: Path, call: CallId) -> None:
        if not SAFE_NAME.fullmatch(call):
            raise ToolFailed(f"“{call[:80]}” is not the id of a command.")
        self.path = calls / call
        self.output = self.path / "output"
        self.stdin = self.path / "stdin"
        self.workdir_file = self.path / "workdir"

    def prepare(self, meta: Meta) -> None:
        """Ready for a wrapper. The meta file comes last: where it is, everything is."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        self.workdir_file.touch(0o600)  # a box shows this one file, so it must be there
        if meta.launch.background:
            with contextlib.suppress(FileExistsError):
                os.mkfifo(self.stdin, 0o600)
        self._put("meta", msgspec.json.encode(meta))

    def meta(self) -> Meta | None:
        raw = self._get("meta")
        if raw is None:
            return None
        try:
            return _metas.decode(raw)
        except msgspec.MsgspecError:
            return None  # cut by a crash of the machine; nothing can be known

    def gate(self) -> Gate | None:
        raw = self._get("begun")
        if raw is None:
            return None
        lines = raw.decode("utf-8", "replace").split("\n")
        if len(lines) != 4 or lines[2] != END_MARK or not lines[0].isdigit():
            return Torn(abs(time.time() - self.began_at()))
        if int(lines[0]):
            return Begun(int(lines[0]), lines[1])
        return Barred("stopped" if lines[1] == "stopped" else "unstarted")

    def bar(self, cut: Literal["stopped", "unstarted"]) -> bool:
        """Take the gate so that the command never begins. False: a wrapper was faster."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            handle = os.open(self.path / "begun", flags, 0o600)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"0\n{cut}\n{END_MARK}\n")
        return True

    def status(self) -> int | None:
        code = (self._get("status") or b"").partition(b"\n")[0]
        return int(code) if code.isdigit() else None

    def cut(self) -> Cut:
        """Why we set out to end it, noted before the first signal."""
        raw = self._get("cut")
        if raw is None:
            return ""
        return "timeout" if raw == b"timeout" else "stopped"

    def note_cut(self, cut: Literal["timeout", "stopped"]) -> None:
        if not self.cut():
            self._put("cut", cut.encode())

    def workdir(self) -> str:
        """Where the shell was; empty when the command wrote something else there."""
        raw = (self._get("workdir") or b"").removesuffix(b"\n")
        if len(raw) > PATH_BYTES_MAX or b"\0" in raw:
            return ""
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return ""

    def drained(self) -> bool:
        status = self._get("status") or b""
        return status.endswith(f"\n{END_MARK}\n".encode()) or (self.path / "drained").exists()

    def size(self) -> int:
        return self.output.stat().st_size if self.output.exists() else 0

    def began_at(self) -> float:
        return self._changed_at("begun")

    def ended_at(self) -> float:
        return self._changed_at("status") or self._changed_at("cut")

    def changed_at(self) -> float:
        """When a fact was last added."""
        return self._changed_at("")

    def read(self, offset: int, limit: int) -> bytes:
        try:
            with self.output.open("rb") as file:
                file.seek(offset)
                return file.read(limit)
        except FileNotFoundError:
            return b""

    def remove(self) -> None:
        """Under another name first: a half-removed folder must not look like one not begun."""
        gone = self.path.with_name(f"{GONE}{self.path.name}-{time.monotonic_ns()}")
        try:
            self.path.rename(gone)
        except FileNotFoundError:
            return
        shutil.rmtree(gone, ignore_errors=True)

    def _changed_at(self, name: str) -> float:
        try:
            return (self.path / name).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def _get(self, name: str) -> bytes | None:
        try:
            handle = os.open(self.path / name, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return os.read(handle, min(os.fstat(handle).st_size, NOTE_BYTES_MAX))
        finally:
            os.close(handle)

    def _put(self, name: str, content: bytes) -> None:
        new = self.path / f"{name}.{os.getpid()}-{threading.get_ident()}.new"
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        new.rename(self.path / name)


def state_of(folder: CallFolder, meta: Meta, processes: Processes, boot: str) -> State:
    """What the files and the living processes prove, and no more."""
    code = folder.status()
    if code is not None:
        return Ended(code, folder.cut())
    gate = folder.gate()
    if isinstance(gate, Barred):
        return Ended(None, gate.cut)
    if meta.boot == boot:
        if gate is None:
            return Pending()
        if _alive(gate, processes):
            return CommandRunning()
        code = folder.status()  # it may have ended between our two looks
        if code is not None:
            return Ended(code, folder.cut())
    cut = folder.cut()
    return Ended(None, cut) if cut and gate is not None else Lost()


def _alive(gate: Begun | Torn, processes: Processes) -> bool:
    """The wrapper itself, or, when that was killed alone, anything left in its group."""
    if isinstance(gate, Torn):
        return gate.age_s < TORN_S_MAX
    start = processes.start(gate.pid)
    if start:  # another start: the pid is reused, which the kernel does only to an empty group
        return start == processes.start_in(gate.noted)
    return bool(processes.groups(gate.pid))


def folders(calls: Path) -> list[CallFolder]:
    """All calls, oldest first."""
    try:
        entries = [entry for entry in os.scandir(calls) if SAFE_NAME.fullmatch(entry.name)]
    except FileNotFoundError:
        return []
    dated = sorted((_age_key(entry), entry.name) for entry in entries)
    return [CallFolder(calls, CallId(name)) for _, name in dated]


def swept(
    calls: Path, is_over: Callable[[CallFolder], bool], *, keep_s: float, keep_bytes: int
) -> int:
    """Remove old folders, then the oldest while more than `keep_bytes` is kept."""
    for half_removed in calls.glob(f"{GONE}*"):
        shutil.rmtree(half_removed, ignore_errors=True)
    now, removed = time.time(), 0
    kept = folders(calls)
    total = sum(folder.size() for folder in kept)
    for folder in kept:
        age, size = now - folder.changed_at(), folder.size()
        stays_s = FRESH_KEEP_S if total > CROWDED_TIMES * keep_bytes else CROWDED_KEEP_S
        too_much = total > keep_bytes and age > stays_s
        if (age > keep_s or too_much) and is_over(folder):
            folder.remove()
            total -= size
            removed += 1
    return removed


def _age_key(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return 0.0
