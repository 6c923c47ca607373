"""Where a command runs: the home, the environment, the console and the clock."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.cli.output.console import Console
from hermes.settings import Settings, load


class CliContext(Struct, frozen=True, kw_only=True):
    home: Path
    environ: Mapping[str, str]
    console: Console
    clock: Callable[[], float]

    def settings(self) -> Settings:
        """Read the settings and print their warnings. Raise Misconfigured."""
        settings = load(self.home, self.environ)
        for notice in settings.notices:
            self.console.tell(f"hermes: {notice}")
        return settings
