"""The log of a process: JSON lines in HERMES_HOME/logs/hermes.log, bounded, for the owner alone.

Nothing of it goes to a terminal: what a person must hear, a command says itself.
"""

import json
import logging
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.settings import Settings
from hermes.settings.shape import is_secret

BYTES_MAX, FILES = 5_000_000, 3
SECRET_CHARS_MIN = 6  # shorter ones would black out ordinary words
LEVELS = ("debug", "info", "warning", "error")


class JsonLines(logging.Formatter):
    """One object a line. A known secret is never written, wherever it occurs."""

    def __init__(self, hide: Iterable[str]) -> None:
        super().__init__()
        self._hide = sorted({text for text in hide if len(text) >= SECRET_CHARS_MIN}, key=len)

    def format(self, record: logging.LogRecord) -> str:
        row = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "pid": record.process,
            "text": self._safe(record.getMessage()),
        }
        if record.exc_info:
            row["trace"] = self._safe(self.formatException(record.exc_info))
        return json.dumps(row, ensure_ascii=False)

    def _safe(self, text: str) -> str:
        for secret in reversed(self._hide):
            text = text.replace(secret, "•••")
        return text


class PrivateFile(RotatingFileHandler):
    """Created with mode 0600, also when it is turned over."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8")


def begin(home: Path, settings: Settings, environ: Mapping[str, str]) -> None:
    """Log from now on. The level is HERMES_LOG: debug, info, warning or error."""
    level = environ.get("HERMES_LOG", "") or "info"
    if level.lower() not in LEVELS:
        problem = f"“{level}” is not one of {', '.join(LEVELS)}"
        raise Misconfigured("HERMES_LOG", problem, "Set it to one of these, or unset it")
    try:
        into = PrivateFile(home / "logs" / "hermes.log", maxBytes=BYTES_MAX, backupCount=FILES)
    except OSError:  # a home that cannot be written to is told by whoever must write there
        return
    into.setFormatter(JsonLines(_secrets(settings)))
    logging.raiseExceptions = False  # a full disk must not fill the screen as well
    root = logging.getLogger()
    root.setLevel(level.upper())
    root.handlers[:] = [into]
    for loud in ("asyncio", "httpx2", "httpcore2"):
        logging.getLogger(loud).setLevel(logging.WARNING)


def _secrets(settings: Settings) -> Iterable[str]:
    yield settings.model.api_key
    yield from settings.model.headers.values()
    for fallback in settings.model.fallbacks:
        yield fallback.api_key
        yield from fallback.headers.values()
    for name, value in settings.secrets.items():
        if is_secret((name,)):
            yield value
    yield from _nested(("platforms",), settings.platforms)


def _nested(path: tuple[str, ...], value: object) -> Iterable[str]:
    """The secrets somewhere in a section that its channel reads."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nested((*path, str(key)), inner)
    elif is_secret(path):
        yield str(value)
