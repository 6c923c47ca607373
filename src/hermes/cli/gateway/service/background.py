"""A gateway without a supervisor: a process of its own, detached from the terminal."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

OUTPUT = Path("logs") / "gateway.out"
OUTPUT_BYTES_MAX = 5_000_000
TAIL_BYTES = 16_384
# They belong to the process that ran the command, or to its supervisor; not to a new gateway.
_NOT_PASSED = {"HERMES_TURN", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID"}
_NOT_PASSED |= {"JOURNAL_STREAM", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "MANAGERPID"}


class GatewayChild:
    """A gateway that was just started. It lives on when this program ends."""

    def __init__(self, begun: "subprocess.Popen[bytes]", output: Path, offset: int) -> None:
        self.pid = begun.pid
        self._begun = begun
        self._output = output
        self._offset = offset

    def status(self) -> int | None:
        """Return its exit status; None while it runs. Below 0: the signal that ended it."""
        return self._begun.poll()

    def last_words(self, lines: int) -> str:
        return tail(self._output, lines, since=self._offset)

    def let_go(self) -> None:
        if self._begun.poll() is None:
            self._begun.returncode = 0  # it is meant to outlive us; Popen would complain of it


def spawn(command: Sequence[str], home: Path, environ: Mapping[str, str]) -> GatewayChild:
    """Start a gateway, detached from the terminal. Its output is appended to a file of bounded
    size."""
    output = home / OUTPUT
    _make_room(output)
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        offset = os.fstat(handle).st_size
        passed = {name: value for name, value in environ.items() if name not in _NOT_PASSED}
        begun = subprocess.Popen(
            list(command),
            env={**passed, "HERMES_HOME": str(home)},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
    finally:
        os.close(handle)
    return GatewayChild(begun, output, offset)


def tail(file: Path, lines: int, *, since: int = 0) -> str:
    """Return the last lines of a file that may be long; empty when there is none."""
    try:
        with file.open("rb") as opened:
            end = opened.seek(0, os.SEEK_END)
            opened.seek(max(since, end - TAIL_BYTES))
            text = opened.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _make_room(output: Path) -> None:
    if output.exists() and output.stat().st_size > OUTPUT_BYTES_MAX:
        output.replace(output.with_name(f"{output.name}.1"))
