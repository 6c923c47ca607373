"""The small program around each command: it begins it once and leaves what is worth knowing.

One process, the launcher, has this code in memory and forks a wrapper for every command, so that
no interpreter has to start. It ends with the gateway that started it, or when nothing was launched
for a while; its wrappers do not.

A wrapper stands outside the command and outside its box, so the command cannot forge its status.
In the call's folder it may find `stdin`, a FIFO, and it leaves

- `begun`    who runs it: pid and start time. Made with O_EXCL, so of all wrappers and seekers of
             one call exactly one gets it; the last line, a dot, says it is whole;
- `output`   what the command wrote, as it wrote it, up to the limit; past that the command meets a
             closed pipe. The bound holds while no gateway is alive;
- `status`   the exit status, renamed into place when it is whole; a second line, a dot, says that
             the end of the output has been seen;
- `drained`  says the same where the end came later: a daemon held the pipe;
- `cut`      that its time was over, noted before the first signal. Whoever waits for the command
             ends it then; the wrapper does the same a moment later, since it outlives them all.

A command that is silent leaves no `output`: on a busy disk a new file costs more than a process.

It catches the signals that end a group, so that a polite end still leaves a status. Only the
standard library (program.py), and little of it: what a forked process touches is copied.
"""

import contextlib
import errno
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from hermes.terminals.orders import (
    BEGUN,
    END_MARK,
    GONE,
    LATE,
    PIECE,
    TAKEN,
    SpawnOrder,
    read_order,
    received,
    sent,
)
from hermes.terminals.program import ENTER
from hermes.terminals.quota import DiskWatch, scratch_watch
from hermes.terminals.sandbox.enter import become, hear, outside, prepare
from hermes.terminals.sandbox.kernel import fork_into

IDLE_S = 60
BEGIN_S_MAX = 10
LATE_S = 1.0  # behind the deadline: whoever waits for the command comes first
GRACE_S = 2.0  # between asking it to end and ending it
LOOK_S = 0.1
SETTLE_MAX = 16  # pieces: the most that a pipe holds
FILES_MAX = 64  # more than the launcher ever opens
CANNOT_RUN = 127
FULL = (errno.ENOSPC, errno.EDQUOT)
STATUS_ROOM = 8192  # bytes: two blocks of a disk
CUT = b"\n[The disk is full: the rest of the output is lost.]\n"
UNNAMED = "status.new"  # what will be the status
WHOLE = "/cgroup.procs"  # by this a process is moved with all its threads


def main() -> None:
    launcher(socket.socket(fileno=int(sys.argv[1])))


# ── the launcher ────────────────────────────────────────────────────────────────────────────────


def launcher(gateway: socket.socket) -> None:
    """Forks a wrapper for each order, and answers how it began."""
    gc.freeze()  # a fork copies what it touches, and a collector touches everything
    gc.disable()
    hear()
    woken = _wakeup()
    while (ready := select.select([gateway.fileno(), woken], [], [], IDLE_S)[0]) or _has_wrappers():
        if woken in ready:
            os.read(woken, PIECE)
            _has_wrappers()
        if gateway.fileno() in ready:
            text = received(gateway)
            if text is None:
                return
            sent(gateway, begun(gateway, read_order(text)))


def _has_wrappers() -> bool:
    """Those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _wakeup() -> int:
    """A file that can be read when a signal has come."""
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    return woken


def begun(gateway: socket.socket, order: SpawnOrder) -> bytes:
    """How it began: BEGUN, TAKEN when somebody else was faster, GONE when its wrapper died, LATE
    when that is not known yet, or what went wrong."""
    prepare(order.arguments)
    reader, writer = os.pipe()
    if os.fork() == 0:
        gateway.close()
        os.close(reader)
        wrap(order, writer)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], BEGIN_S_MAX)
    said = (os.read(reader, PIECE) or GONE) if ready else LATE
    os.close(reader)
    return said


# ── a wrapper ───────────────────────────────────────────────────────────────────────────────────


def wrap(order: SpawnOrder, report: int) -> NoReturn:
    """Begin the command, unless it was begun before, and stay with it to its end."""
    try:
        os.setsid()
        if _began(order, report):
            _stay(order)
    finally:
        os._exit(0)


def _began(order: SpawnOrder, report: int) -> bool:
    try:
        os.chdir(order.workdir)
        gate = os.open(f"{order.folder}/begun", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(gate, f"{os.getpid()}\n{_started()}\n{END_MARK}\n".encode())
        os.close(gate)
        if order.stdin:  # before anybody knows: then it can be written to as soon as it has begun
            os.open(f"{order.folder}/stdin", os.O_RDWR)  # there is a writer as long as we live
        said = BEGUN
    except FileExistsError:
        said = TAKEN
    except OSError as refused:
        why = "the disk is full" if refused.errno in FULL else str(refused)
        said = why.encode("utf-8", "replace")
    with contextlib.suppress(BrokenPipeError):  # the gate is ours, whoever wanted to know
        os.write(report, said)
    os.close(report)
    return said == BEGUN


def _started() -> str:
    """The line that alive.py reads."""
    try:
        stat = os.open("/proc/self/stat", os.O_RDONLY)
    except FileNotFoundError:
        with os.popen(f"ps -o lstart= -p {os.getpid()}") as asked:  # noqa: S605 - a number
            return asked.read().strip()
    try:
        return os.read(stat, PIECE).decode("utf-8", "replace").strip()
    finally:
        os.close(stat)


def _stay(order: SpawnOrder) -> None:
    woken = _wakeup()
    reader, writer = os.pipe()
    words = ["--", *order.arguments]
    if tuple(order.arguments[: len(ENTER)]) == ENTER:  # what would be started is here
        words = list(order.arguments[len(ENTER) :])
    outside(words)
    command, groups = _forked(order.groups)
    if command == 0:
        _run(order._replace(groups=groups), words, writer)
    os.close(writer)
    empty = _made_ahead(order.folder)
    output = Output(order, reader)
    limit = TimeLimit(order)
    note = f"{order.folder}/workdir"
    disk = DiskWatch(order.workspace, note, order.disk_bytes)
    scratch = scratch_watch(order.scratch, note, order.scratch_bytes)
    while True:
        left_s = _shorter(limit.left(), _shorter(disk.wait_s, scratch.wait_s))
        ready, _, _ = select.select([woken, *output.files], [], [], left_s)
        if reader in ready:
            output.pour()
        if woken in ready:
            os.read(woken, PIECE)
        limit.keep()
        if why := disk.excess() or scratch.excess():
            output.tell(f"\nThe command was stopped: {why}.\n")
            _cut_off(command)
        ended, status = os.waitpid(command, os.WNOHANG)
        if ended:
            break
    output.settle()
    code = os.waitstatus_to_exitcode(status)
    _leave(order.folder, empty, code, drained=not output.files)
    if limit.is_over:
        limit.end_rest()
    if output.files and os.fork() == 0:  # a daemon that the command left may go on writing
        while output.files:
            output.pour()
        os.close(_made(f"{order.folder}/drained"))


def _shorter(one: float | None, other: float | None) -> float | None:
    """The wait until the first of two things is due; None: neither ever is."""
    return min((each for each in (one, other) if each is not None), default=None)


def _forked(groups: Sequence[str]) -> tuple[int, Sequence[str]]:
    """A fork, and the groups that the child has yet to join: in one of them it may begin."""
    for group in groups:
        if group.endswith(WHOLE):
            with contextlib.suppress(OSError):  # the kernel is too old, or a filter forbids it
                return fork_into(group.removesuffix(WHOLE)), [g for g in groups if g != group]
    return os.fork(), groups


class Output:
    """What the command writes, on its way into the file."""

    def __init__(self, order: SpawnOrder, reader: int) -> None:
        self.files = [reader]  # none once the end was seen
        self._path = f"{order.folder}/output"
        self._left = order.output_bytes
        self._file = -1

    def pour(self) -> None:
        try:
            piece = os.read(self.files[0], min(PIECE, self._left))
            self._left -= len(piece)
            over = not piece or not self._left
            if piece and self._file < 0:
                self._file = _made(self._path)
            while piece:
                piece = piece[os.write(self._file, piece) :]
        except OSError as refused:  # a disk without room ends the output
            over = True
            if refused.errno in FULL:
                self._cut()
        if over:
            os.close(self.files.pop())

    def _cut(self) -> None:
        """Say so in bytes that are there, since to overwrite them needs no room; and give back
        enough of the others for the status."""
        with contextlib.suppress(OSError):
            end = os.fstat(self._file).st_size - STATUS_ROOM
            if end >= len(CUT):
                os.pwrite(self._file, CUT, end - len(CUT))
                os.ftruncate(self._file, end)

    def tell(self, text: str) -> None:
        """Words of ours, whether or not there is room for more of the command's."""
        with contextlib.suppress(OSError):
            if self._file < 0:
                self._file = _made(self._path)
            os.write(self._file, text.encode())

    def settle(self) -> None:
        """What was in the pipe when the command ended, and no more."""
        for _ in range(SETTLE_MAX):
            if not select.select(self.files, [], [], 0)[0]:
                return
            self.pour()


class TimeLimit:
    """The command's time. It is kept here, because all who wait for the command may be gone."""

    def __init__(self, order: SpawnOrder) -> None:
        self._folder = order.folder
        self._due = None if order.deadline is None else order.deadline + LATE_S
        self.is_over = False

    def left(self) -> float | None:
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def keep(self) -> None:
        """When it is over: note that, ask the command to end, and end it after a while."""
        if self._due is None or time.monotonic() < self._due:
            return
        if self.is_over:
            _signal_all(signal.SIGKILL)
        self.is_over, self._due = True, time.monotonic() + GRACE_S
        _note_cut(self._folder)
        _signal_all(signal.SIGTERM)

    def end_rest(self) -> None:
        """What the command has left of itself ends, too."""
        while self.left() and _session().keys() - {os.getpid()}:
            time.sleep(LOOK_S)
        _signal_all(signal.SIGKILL)


def _note_cut(folder: str) -> None:
    """As records.py reads it; the first word counts."""
    with contextlib.suppress(OSError):
        cut = _made(f"{folder}/cut.{os.getpid()}.new")
        os.write(cut, b"timeout")
        os.close(cut)
        os.link(f"{folder}/cut.{os.getpid()}.new", f"{folder}/cut")
    with contextlib.suppress(OSError):
        Path(f"{folder}/cut.{os.getpid()}.new").unlink()


def _signal_all(number: signal.Signals) -> None:
    """Every process group of our session; our own comes last, since SIGKILL ends us, too."""
    for group in sorted(set(_session().values()), key=lambda each: each == os.getpid()):
        with contextlib.suppress(OSError):
            os.killpg(group, number)


def _session() -> dict[int, int]:
    """The processes of our session, with their groups; without /proc only we are known."""
    us, found = os.getpid(), {os.getpid(): os.getpid()}
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir("/proc"):
            with contextlib.suppress(OSError, ValueError):  # gone meanwhile, or no process
                pid, stat = int(entry.name), Path(entry.path, "stat").read_text("utf-8", "replace")
                state, _, group, session = stat.rpartition(")")[2].split()[:4]
                if int(session) == us and state not in "ZX":
                    found[pid] = int(group)
    return found


def _cut_off(command: int) -> None:
    """The first process of a box takes the rest along; without one the group hears it too."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(command, signal.SIGKILL)
        os.killpg(0, signal.SIGTERM)  # we hear it and go on


def _made_ahead(folder: str) -> int:
    """The file that the status will be written to, made while the command runs: on a busy disk that
    takes a moment, which nobody has to wait for now. -1 where it could not be made yet."""
    try:
        return _made(f"{folder}/{UNNAMED}")
    except OSError:
        return -1


def _leave(folder: str, empty: int, code: int, *, drained: bool) -> None:
    status = empty if empty >= 0 else _made(f"{folder}/{UNNAMED}")
    note = f"{END_MARK}\n" if drained else ""
    os.write(status, f"{code if code >= 0 else 128 - code}\n{note}".encode())
    os.close(status)
    Path(f"{folder}/{UNNAMED}").rename(f"{folder}/status")


def _made(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def _run(order: SpawnOrder, words: list[str], writer: int) -> NoReturn:
    try:
        source = f"{order.folder}/stdin" if order.stdin else os.devnull
        os.dup2(os.open(source, os.O_RDONLY), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.closerange(3, FILES_MAX)
        signal.set_wakeup_fd(-1)
        for group in order.groups:
            _join(group)
        become(words, order.environment)
    except OSError as refused:
        os.write(2, f"{refused}\n".encode("utf-8", "replace"))
    finally:
        os._exit(CANNOT_RUN)


def _join(group: str) -> None:
    entrance = os.open(group, os.O_WRONLY)
    os.write(entrance, b"0")
    os.close(entrance)
