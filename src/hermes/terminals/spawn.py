"""The one place of tools and terminals where a process begins; a box is asked for before this."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.terminals.environment import PATH_DEFAULT
from hermes.terminals.orders import SpawnOrder, received, sent
from hermes.terminals.program import LAUNCHER

ASK_S_MAX = 10.0
ANSWER_CHARS_MAX = 10_000
END_S_MAX = 1.0  # it ends by itself, but may be in the middle of an order
POLL_S = 0.001
TRIES = 3  # it may be idle and gone, and somebody may kill the next one


class SpawnReply(Struct, frozen=True):
    """How a small program ended, and what it printed; 127 when it could not begin."""

    code: int
    text: str


class Launcher:
    """Begins commands, each in a wrapper; for the threads that start them, one at a time.

    The launcher's process is started by the first command. Where it is gone, because it was idle
    or was killed, the next order starts it anew and is said again: an id is begun once, however
    often it is ordered.
    """

    def __init__(self, program: Sequence[str] = LAUNCHER) -> None:
        self._program = program
        self._line: socket.socket | None = None
        self._pid = 0
        self._ordering = threading.Lock()

    def begin(self, order: SpawnOrder) -> bytes:
        """See `begun` of the wrapper. Raises ToolFailed when no launcher can be had."""
        try:
            text = order.text()
        except ValueError as refused:
            raise ToolFailed(f"The command could not be started: {refused}.") from refused
        with self._ordering:
            for _ in range(TRIES):
                answer = _answered(self._line or self._start(), text)
                if answer is not None:
                    return answer
                self._end()
        raise ToolFailed("The command could not be started: its launcher has ended.")

    def close(self) -> None:
        with self._ordering:
            self._end()

    def _start(self) -> socket.socket:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._pid = _companion(self._program, theirs.fileno())
        return self._line

    def _end(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        until = time.monotonic() + END_S_MAX
        while self._pid and time.monotonic() < until:
            if _has_ended(self._pid):
                self._pid = 0
            else:
                time.sleep(POLL_S)


def _has_ended(pid: int) -> bool:
    try:
        return bool(os.waitpid(pid, os.WNOHANG)[0])
    except ChildProcessError:  # somebody else was faster
        return True


def _answered(line: socket.socket, text: bytes) -> bytes | None:
    """None when the launcher is gone."""
    try:
        sent(line, text)
        return received(line)
    except OSError:
        return None


def _companion(arguments: Sequence[str], line: int) -> int:
    """Begin a program of ours that is told the number of an open file by which we talk to it;
    returns its pid."""
    try:
        child = subprocess.Popen(
            [*arguments, str(line)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": PATH_DEFAULT},  # nothing of ours: boxes are built from its memory
            pass_fds=[line],
            start_new_session=True,
        )
    except OSError as refused:
        raise ToolFailed(f"The command could not be started: {refused}.") from refused
    child.returncode = 0  # we wait for it by its pid; Popen need not mind it
    return child.pid


def asked(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> SpawnReply:
    """Run a small program of the system to its end."""
    try:
        ended = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=ASK_S_MAX,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as refused:
        return SpawnReply(127, str(refused))
    text = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    return SpawnReply(ended.returncode, text[:ANSWER_CHARS_MAX])


def printed(arguments: Sequence[str]) -> str:
    """What a small program prints, for machines without /proc."""
    return asked(arguments).text
