"""Show how a download goes: one live line on a terminal, a plain line now and then elsewhere."""

import time

from hermes.app.weights import FetchWatch, Weights
from hermes.cli.output.console import Console

BAR_CHARS = 24
LIVE_S, PLAIN_S = 0.1, 10.0
SPEED_S = 1.0  # after this time the speed means something


class FetchProgress(FetchWatch):
    """What a person sees while weights are fetched. `clock` is monotonic."""

    def __init__(self, console: Console, weights: Weights) -> None:
        self._console = console
        self._weights = weights
        self._live = console.stderr.isatty() and console.environ.get("TERM", "") != "dumb"
        self._began = time.monotonic()
        self._shown = self._began
        self._start = self._done = 0
        self._place = ""
        self._dirty = False

    def begin(self, place: str, done: int) -> None:
        self._began = time.monotonic()
        self._start = self._done = done
        self._place = place
        here = f", {_megabytes(done)} of it are here already" if done else ""
        self._tell(f"Fetching {self._weights.title} from {place}{here} …")

    def progress(self, done: int) -> None:
        self._done = done
        self._tick(done)

    def coming(self, more: int) -> None:
        self._tick(min(self._done + more, self._weights.bytes))

    def failed(self, place: str, why: str) -> None:
        self._tell(f"{place}: {why}")

    def check(self) -> None:
        self._tell("Checking it …")

    def wait(self) -> None:
        self._tell(f"Another Hermes is fetching {self._weights.title}; waiting for it …")

    def end(self) -> None:
        """Remove the live line."""
        if self._dirty:
            self._console.stderr.write("\r\x1b[K")
            self._console.stderr.flush()
            self._dirty = False

    def _tick(self, done: int) -> None:
        now = time.monotonic()
        if now - self._shown < (LIVE_S if self._live else PLAIN_S):
            return
        self._shown = now
        total = self._weights.bytes
        took = now - self._began
        speed = (done - self._start) / took if took >= SPEED_S else 0.0
        rate = f", {speed / 1e6:.1f} MB/s" if speed > 0 else ""
        text = f"{done / 1e6:,.0f} of {_megabytes(total)}{rate}"
        if not self._live:
            self._console.tell(f"  {text}")
            return
        filled = BAR_CHARS * done // total
        line = f"[{'=' * filled}{' ' * (BAR_CHARS - filled)}] {text}"
        width = self._console.width(self._console.stderr) - 1
        self._console.stderr.write(f"\r\x1b[K{self._console.dim(line[:width])}")
        self._console.stderr.flush()
        self._dirty = True

    def _tell(self, text: str) -> None:
        self.end()
        self._console.tell(text)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
