"""Check the sandbox: which one is active here, and what it does and does not protect."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes.app.workspaces import sandbox_of
from hermes.settings import Settings

INSTALL = "apt install bubblewrap   (or your system's way to install it)"


def sandbox_findings(
    home: Path, settings: Settings, environ: Mapping[str, str], *, verbose: bool
) -> Iterator[tuple[str, bool, str]]:
    """Yield text, whether it is fine, and the fix: one row, or all of them. A sandbox is really
    started."""
    if settings.terminal.sandbox == "none":
        yield (
            "off: terminal.sandbox is set to none (your choice), so commands have your rights",
            True,
            "",
        )
        return
    guards = sandbox_of(home, settings, home / "workspace", environ).probe()
    if not any(guard.active for guard in guards):
        why = "; ".join(guard.by for guard in guards)
        yield f"commands are refused: {why}", False, INSTALL
        return
    active = [guard for guard in guards if guard.active]
    missing = ", ".join(guard.name for guard in guards if not guard.active)
    lacks = f"not guarded here: {missing}" if missing else ""
    if not verbose:
        parts = [
            f"commands run in a sandbox ({active[0].by})",
            lacks,
            "more: hermes doctor --verbose",
        ]
        yield "; ".join(filter(None, parts)), True, ""
        return
    yield from ((f"{guard.name}: {guard.by}", True, "") for guard in active)
    if lacks:
        yield lacks, True, ""
