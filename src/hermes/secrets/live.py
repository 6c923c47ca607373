"""The redaction sink of a process: it learns new secrets while running and keeps old ones.

It checks the files for changes when it is used, at most a few times a second; it needs no thread or
task.
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

LOOK_S = 0.25  # the longest delay before a new value is known
VALUES_MAX = 2_000  # beyond this, the oldest secrets are dropped

Stamp = tuple[int, int, int]


class Sink:
    """Redact a text when called. Every text that is stored or shown passes through it."""

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
        """Return a redactor for a text that arrives in pieces."""
        return Stream(self.redactor)

    def learn(self, values: Iterable[str]) -> None:
        """Add values to the known secrets."""
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
            return  # perhaps a half-written file; the next check reads it again
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
    """Return a sink for the current and future secrets of this home."""
    return Sink(sorted(secrets_of(settings)), file=home / SECRETS)


def _stamp(file: Path) -> Stamp | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
