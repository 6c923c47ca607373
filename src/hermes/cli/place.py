"""Where a command runs: the home, the environment, the console and the clock it was given."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.cli.console import Console
from hermes.settings import Settings, load


class Place(Struct, frozen=True, kw_only=True):
    home: Path
    environ: Mapping[str, str]
    console: Console
    clock: Callable[[], float]

    def settings(self) -> Settings:
        """Raises Misconfigured. What the person should hear about reading them is told."""
        settings = load(self.home, self.environ)
        for notice in settings.notices:
            self.console.tell(f"hermes: {notice}")
        return settings
