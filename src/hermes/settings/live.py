"""Settings that are reloaded when their files change, without a restart."""

import logging
from collections.abc import Mapping
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.settings.home import CONFIG, SECRETS
from hermes.settings.read import survey
from hermes.settings.shape import Settings
from hermes.settings.sources import read_config, read_secrets

log = logging.getLogger("hermes.settings")

Stamp = tuple[int, int, int] | None


class LiveSettings:
    """Return the current settings when called. Unreadable files leave the last ones unchanged.

    Each call compares the files' times, so what a command changed counts for the next message.
    What is wrong in one place costs only that place: a secret that was taken away is gone.
    """

    def __init__(self, home: Path, settings: Settings, *, environ: Mapping[str, str]) -> None:
        self._files = (home / CONFIG, home / SECRETS)
        self._home, self._environ = home, environ
        self._settings = settings
        self._stamps = self._stamps_now()

    def __call__(self) -> Settings:
        self._look()
        return self._settings

    def _look(self) -> None:
        stamps = self._stamps_now()
        if stamps == self._stamps:
            return
        before, self._stamps = self._stamps, stamps
        config, secrets = self._files
        for file, was, stamp in zip(self._files, before, stamps, strict=True):
            if was is not None and stamp is None:
                log.warning("%s is missing, so its settings no longer apply. Put it back.", file)
        try:
            read_config(config)
            read_secrets(secrets)
        except Misconfigured as broken:
            log.warning("the settings have changed and cannot be read: %s", broken)
            return
        self._settings, problems = survey(self._home, self._environ)
        for problem in problems:
            log.warning("the settings have changed, and one is wrong: %s", problem)

    def _stamps_now(self) -> tuple[Stamp, ...]:
        return tuple(_stamp(file) for file in self._files)


def _stamp(file: Path) -> Stamp:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
