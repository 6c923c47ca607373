"""The log of a process: JSON lines in HERMES_HOME/logs/hermes.log, bounded and private.

Nothing of it goes to a terminal: a command itself prints what a person must know.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.secrets.live import sink_of
from hermes.settings import Settings

BYTES_MAX, FILES = 5_000_000, 3
LEVELS = ("debug", "info", "warning", "error")


class JsonLines(logging.Formatter):
    """Format one JSON object per line. All texts, also those of tracebacks, are redacted."""

    def __init__(self, safe: Callable[[str], str]) -> None:
        super().__init__()
        self._safe = safe

    def format(self, record: logging.LogRecord) -> str:
        row = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": self._safe(record.name),
            "pid": record.process,
            "text": self._safe(record.getMessage()),
        }
        if record.exc_info:
            row["trace"] = self._safe(self.formatException(record.exc_info))
        if record.stack_info:
            row["stack"] = self._safe(record.stack_info)
        return json.dumps(row, ensure_ascii=False)


class PrivateFile(logging.FileHandler):
    """A log file with mode 0600, also after rotation, which follows the line that fills it.

    The standard library's handler would load pickle and sockets into every process.
    """

    def __init__(self, file: Path, bytes_max: int = BYTES_MAX) -> None:
        super().__init__(file)
        self._file = file
        self._bytes_max = bytes_max

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        full = self.stream
        if full is not None and os.fstat(full.fileno()).st_size >= self._bytes_max:
            self._turn_over(full)

    def _turn_over(self, full: TextIOWrapper) -> None:
        older = [self._file.with_name(f"{self._file.name}.{n}") for n in range(FILES, 0, -1)]
        with suppress(OSError):  # then it grows, and nothing is lost
            for into, file in pairwise((*older, self._file)):
                if file.exists():
                    file.replace(into)
            full.close()
            self.stream = self._open()

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8")


def begin(home: Path, settings: Settings, environ: Mapping[str, str]) -> None:
    """Start logging. HERMES_LOG sets the level: debug, info, warning or error."""
    level = environ.get("HERMES_LOG", "") or "info"
    if level.lower() not in LEVELS:
        problem = f"“{level}” is not one of {', '.join(LEVELS)}"
        raise Misconfigured("HERMES_LOG", problem, "Set it to one of these, or unset it")
    try:
        into = PrivateFile(home / "logs" / "hermes.log")
    except OSError:  # the command that has to write there reports it
        return
    into.setFormatter(JsonLines(sink_of(home, settings)))
    logging.raiseExceptions = False  # a full disk must not fill the screen as well
    root = logging.getLogger()
    root.setLevel(level.upper())
    root.handlers[:] = [into]
    logging.getLogger("asyncio").setLevel(logging.WARNING)
