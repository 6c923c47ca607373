"""Show progress while waiting: the seconds count up on a terminal; a pipe gets nothing."""

import time
from collections.abc import Callable

from hermes.cli.output.console import Console

LOOK_S = 0.1
QUIET_S = 1.0  # what is over by then is not worth a word


class WaitProgress:
    """One line of a terminal, rewritten as time passes."""

    def __init__(self, console: Console, text: str) -> None:
        self._console = console
        self._text = text
        self._shown = -1

    def tick(self, waited_s: float) -> None:
        stream = self._console.stderr
        if int(waited_s) == self._shown or waited_s < QUIET_S or not stream.isatty():
            return
        self._shown = int(waited_s)
        stream.write(f"\r\x1b[K{self._console.dim(f'{self._text} … {self._shown} s')}")
        stream.flush()

    def clear(self) -> None:
        if self._shown >= 0:
            self._console.stderr.write("\r\x1b[K")
            self._console.stderr.flush()
            self._shown = -1


def wait_until(done: Callable[[], bool], limit_s: float, progress: WaitProgress) -> bool:
    """Poll until it is done; return False when the time is over first."""
    began = time.monotonic()
    try:
        while not done():
            waited = time.monotonic() - began
            if waited >= limit_s:
                return False
            progress.tick(waited)
            time.sleep(LOOK_S)
        return True
    finally:
        progress.clear()
