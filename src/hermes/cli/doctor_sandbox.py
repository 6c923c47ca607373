"""What hermes doctor says of the sandbox: which one is active here, what it guards and what not."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes.platforms import sandbox_of
from hermes.settings import Settings

INSTALL = "apt install bubblewrap   (or your system's way to install it)"


def sandbox_findings(
    home: Path, settings: Settings, environ: Mapping[str, str]
) -> Iterator[tuple[str, bool, str]]:
    """Text, whether it is well, and the fix. A box is really built to find out."""
    if settings.terminal.sandbox == "none":
        yield "off: terminal.sandbox is none, your choice, so commands have your rights", True, ""
        return
    guards = sandbox_of(home, settings, home / "workspace", environ).probe()
    if not any(guard.active for guard in guards):
        why = "; ".join(guard.by for guard in guards)
        yield f"commands are refused: {why}", False, INSTALL
        return
    yield from ((f"{guard.name}: {guard.by}", True, "") for guard in guards if guard.active)
    if missing := ", ".join(guard.name for guard in guards if not guard.active):
        yield f"not guarded here: {missing}", True, ""
