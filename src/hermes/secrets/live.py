"""The one sink of a process: it learns of a new secret while it runs, and forgets no old one.

It looks at the files when it is used, a few times a second at most; nothing has to be started.
"""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.secrets.known import secrets_in, secrets_of
from hermes.secrets.redactor import Redactor, Stream
from hermes.settings import Settings
from hermes.settings.home import SECRETS
from hermes.settings.sources import read_secrets

LOOK_S = 0.25  # a new value is known within that
VALUES_MAX = 2_000  # old ones beyond that are forgotten, the oldest first

Stamp = tuple[int, int, int]


class Sink:
    """Calling it gives a text without secrets. For every text that is kept or shown."""

    def __init__(
        self,
        values: Iterable[str] = (),
        *,
        file: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._values = dict.fromkeys(values)
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._looked_at = float("-inf")
        self._redactor = Redactor(self._values)

    def __repr__(self) -> str:
        return f"Sink({len(self._values)} secrets)"

    def __call__(self, text: str) -> str:
        return self.redactor()(text)

    def stream(self) -> Stream:
        """For a text that is shown while it comes."""
        return Stream(self.redactor)

    def learn(self, values: Iterable[str]) -> None:
        """These are secrets from now on."""
        with self._lock:
            self._learn(values)

    def redactor(self) -> Redactor:
        now = self._clock()
        if self._file is not None and now - self._looked_at >= LOOK_S:
            with self._lock:
                self._looked_at = now
                self._look(self._file)
        return self._redactor

    def _look(self, file: Path) -> None:
        stamp = _stamp(file)
        if stamp is None or stamp == self._stamp:
            return
        try:
            stored, _problems = read_secrets(file)
        except Misconfigured:
            return  # half of a file, perhaps: the next look finds the whole
        self._stamp = stamp
        self._learn(secrets_in(stored))

    def _learn(self, values: Iterable[str]) -> None:
        fresh = [value for value in values if value not in self._values]
        if not fresh:
            return
        known = [*self._values, *fresh][-VALUES_MAX:]
        self._values = dict.fromkeys(known)
        self._redactor = Redactor(known)


def sink_of(home: Path, settings: Settings) -> Sink:
    """The secrets of this home, those that it has now and those that it will have."""
    return Sink(sorted(secrets_of(settings)), file=home / SECRETS)


def _stamp(file: Path) -> Stamp | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
