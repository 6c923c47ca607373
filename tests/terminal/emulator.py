"""A program in a terminal: a pseudo-terminal, and an emulator that keeps what a person sees."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte

PATIENCE_S = 60.0
KEPT = 2_000


class _Screen(pyte.HistoryScreen):
    """Answers what a program asks its terminal, as terminals do."""

    answer: Callable[[str], None] = staticmethod(lambda _text: None)

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Emulator:
    """Types and looks. `text` is everything that can be scrolled to, `screen` what stands there."""

    def __init__(
        self,
        command: Sequence[str],
        env: dict[str, str],
        cwd: Path,
        *,
        columns: int = 80,
        rows: int = 24,
        lag_s: float = 0.0,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.child = subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._screen = _Screen(columns, rows, history=KEPT, ratio=0.5)
        self._screen.answer = lambda text: self._late.append((time.monotonic() + lag_s, text))
        self._late: list[tuple[float, str]] = []  # answers on a long way, as over SSH
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.open = True

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def text(self) -> str:
        above = [_line(line, self._screen.columns) for line in self._screen.history.top]
        return "\n".join([*above, self.screen])

    @property
    def cells(self) -> Sequence[Sequence[pyte.screens.Char]]:
        """Each place of the screen, with its colours."""
        columns = range(self._screen.columns)
        return [[self._screen.buffer[y][x] for x in columns] for y in range(self._screen.lines)]

    def look(self, seconds: float = 0.1) -> None:
        """Take in what the program writes, until it is quiet for so long."""
        self._catch_up()
        while self.open and select.select([self._ours], [], [], seconds)[0]:
            try:
                piece = os.read(self._ours, 65_536)
            except OSError:  # the program has closed its end
                piece = b""
            if not piece:
                self.open = False
                return
            self.raw += piece
            self._stream.feed(piece)
            self._catch_up()
            if len(piece) < 1_024:
                return

    def until(self, wanted: str | Callable[[str], object], *, on_screen: bool = False) -> str:
        """Look until it is there: a text, or something that is true of what is seen."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self.look()
            seen = self.screen if on_screen else self.text
            if (wanted in seen) if isinstance(wanted, str) else wanted(seen):
                return seen
            if not self.open:
                break
        raise AssertionError(f"{wanted!r} was not seen:\n{self.text}")

    def settle(self, seconds: float = 0.4) -> str:
        """What stands there when nothing has changed for so long."""
        before = None
        while before != self.screen:
            before = self.screen
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                self.look(0.05)
        return self.screen

    def type(self, text: str) -> None:
        self._write(text.encode())

    def paste(self, text: str) -> None:
        self._write(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def ended(self) -> int:
        """Its status, once it has left."""
        deadline = time.monotonic() + PATIENCE_S
        while self.open and time.monotonic() < deadline:
            self.look()
        return self.child.wait(PATIENCE_S)

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(PATIENCE_S)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._ours)

    def _catch_up(self) -> None:
        while self._late and self._late[0][0] <= time.monotonic():
            self._write(self._late.pop(0)[1].encode())

    def _write(self, raw: bytes) -> None:
        os.write(self._ours, raw)


def _line(cells: object, columns: int) -> str:
    return "".join(cells[x].data for x in range(columns)).rstrip()  # type: ignore[index]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)
