"""Install the built-in model on request, after saying what it costs."""

import importlib

from hermes.app.models import has_builtin
from hermes.cli.context import CliContext
from hermes.cli.setup import extras
from hermes.core.errors import Misconfigured
from hermes.installed import LOCAL, checkout, how_to_add

NAME = LOCAL
DOWNLOAD_MB, DISK_MB, MEMORY_MB = 127, 200, 250
COSTS = (
    f"{DOWNLOAD_MB} MB to download, {DISK_MB} MB on disk, {MEMORY_MB} MB of memory while it answers"
)
LIMITS = (
    "It runs on this computer and needs no key. "
    "It can chat a little; it is not clever, and it cannot use tools."
)
KEY = "model.provider"


def installed() -> bool:
    importlib.invalidate_caches()
    return has_builtin()


def install(context: CliContext) -> None:
    """Install by the installer that made this environment, with its progress on standard error.
    Raise Misconfigured with the reason; the present environment still works then."""
    root = checkout()
    if root is None:
        raise Misconfigured(KEY, "the built-in model is not installed", f"Run: {how_to_add(NAME)}")
    why = extras.add(NAME, root, context)
    if not why and not installed():
        why = "its packages cannot be imported"
    if why:
        fix = "Try again when that is fixed, or choose a provider: hermes model"
        raise Misconfigured(KEY, f"the built-in model could not be installed ({why})", fix)
