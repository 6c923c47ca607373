"""Add optional packages to a clone's environment, with progress on standard error."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from hermes.cli.context import CliContext

CLEANING_S = 10.0  # for an installer that was interrupted
WHY_CHARS_MAX = 600
REASON = {"HERMES_SETUP_REASON": "stdout"}  # see setup/environment.py


def add(name: str, root: Path, context: CliContext) -> str:
    """Run the launcher until its environment has the packages. Return why that failed, or ""."""
    more = f"{context.environ.get('HERMES_WITH', '')} {name}".strip()
    context.console.stderr.flush()
    ctrl_c = {signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ctrl_c)  # or one that comes now leaves it behind
    try:
        with subprocess.Popen(
            ["/bin/sh", str(root / "hermes"), "--version"],
            env={**context.environ, **REASON, "HERMES_WITH": more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        ) as installer:
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, ctrl_c)
                said, _ = installer.communicate()
            except KeyboardInterrupt:
                _stop(installer)
                raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ctrl_c)
    if installer.returncode == 0:
        return ""
    return " ".join(said.split())[:WHY_CHARS_MAX] or "no reason was given"


def _stop(installer: "subprocess.Popen[str]") -> None:
    """Handle Ctrl+C: tell the installer to stop, which cleans up silently."""
    with suppress(ProcessLookupError):
        os.killpg(installer.pid, signal.SIGTERM)
    try:
        installer.wait(CLEANING_S)
    except subprocess.TimeoutExpired:
        os.killpg(installer.pid, signal.SIGKILL)
