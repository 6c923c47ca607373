"""The built-in models: say what one costs, install what runs it, and fetch its weights."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from hermes.app.weights import (
    Weights,
    bytes_missing,
    default_weights,
    fetch,
    fitting_weights,
    has_engine,
    offered_weights,
    weights_here,
)
from hermes.cli.context import CliContext
from hermes.cli.errors import UsageError
from hermes.cli.setup import extras
from hermes.core.errors import Misconfigured
from hermes.installed import LOCAL, checkout, how_to_add
from hermes.lazy import LazyModule
from hermes.settings import Settings, survey
from hermes.text.similar import likely

if TYPE_CHECKING:
    from hermes.cli.model import progress as progress_line
else:
    progress_line = LazyModule("hermes.cli.model.progress")

NAME = LOCAL
OWN_FILE = ".gguf"
ENGINE_BYTES = 34_000_000
KEY = "model.provider"
LIMITS = "It runs on this computer and needs no key. Be patient with it: it is small."


def has_installed_engine() -> bool:
    importlib.invalidate_caches()
    return has_engine()


def default_of(settings: Settings) -> Weights:
    """Return the model to begin with: the best one that is here, else the one that fits this
    machine."""
    known = {each.name: each for each in offered_weights(settings)}
    here = weights_here(settings)
    return known[here[0]] if here else fitting_weights(settings)


def unasked(settings: Settings) -> Weights:
    """Return the model to use when nobody can be asked."""
    known = {each.name: each for each in offered_weights(settings)}
    here = weights_here(settings)
    return known[here[0]] if here else default_weights(settings)


def named(settings: Settings, name: str) -> Weights:
    """Return a model by its name. Raise UsageError."""
    known = {each.name: each for each in offered_weights(settings)}
    if name in known:
        return known[name]
    near = likely(name, known)
    meant = f"Did you mean {near[0]}?" if near else "See: hermes model list --provider local"
    raise UsageError(f"there is no built-in model “{name}”. {meant}")


def is_here(settings: Settings, weights: Weights) -> bool:
    return weights.name in weights_here(settings)


def download_bytes(settings: Settings, weights: Weights) -> int:
    """Return how much must be downloaded before the model can answer; 0: nothing."""
    engine = 0 if has_installed_engine() else ENGINE_BYTES
    return engine if is_here(settings, weights) else engine + bytes_missing(settings, weights)


def megabytes(count: int) -> str:
    return f"{max(1, round(count / 1e6)):,} MB"


def described(settings: Settings, weights: Weights) -> str:
    """Return one line about a model: what it is, what it costs, and what it is good for."""
    size = download_bytes(settings, weights)
    cost = f"{megabytes(size)} download" if size else "is here"
    return f"{weights.title} ({cost}): {weights.words}"


def terms(settings: Settings, weights: Weights) -> str:
    """Return what a person is told before a model is fetched: its maker, licence and costs."""
    by = f" by {weights.by}" if weights.by else ""
    size = megabytes(bytes_missing(settings, weights))
    engine = "" if has_installed_engine() else f", and {megabytes(ENGINE_BYTES)} for what runs it"
    memory = f", about {weights.memory_mb:,} MB of memory while it answers"
    return (
        f"{weights.title}{by}; its licence is {weights.licence}. {size} to download{engine}; "
        f"{megabytes(weights.bytes)} on disk{memory if weights.memory_mb else ''}."
    )


def prepare(context: CliContext, weights: Weights) -> None:
    """Install what runs models, and fetch the weights, as far as either is missing. Raise
    Misconfigured, Rejected or StoreFailed with the reason."""
    install_engine(context)
    settings, _problems = survey(context.home, context.environ)
    if not is_here(settings, weights):
        fetch_with_progress(context, settings, weights)


def fetch_with_progress(
    context: CliContext, settings: Settings, weights: Weights, source: str = ""
) -> None:
    """Fetch weights, with progress on standard error. `source`: a file or a URL of the person's.
    Raise Rejected or StoreFailed."""
    progress = progress_line.FetchProgress(context.console, weights)
    try:
        asyncio.run(fetch(settings, weights, source, progress))
    finally:
        progress.end()


def install_engine(context: CliContext) -> None:
    """Install the library by the installer that made this environment. Raise Misconfigured with the
    reason; the present environment still works then."""
    if has_installed_engine():
        return
    root = checkout()
    if root is None:
        raise Misconfigured(KEY, "the built-in model is not installed", f"Run: {how_to_add(NAME)}")
    why = extras.add(NAME, root, context)
    if not why and not has_installed_engine():
        why = "its packages cannot be imported"
    if why:
        fix = "Try again when that is fixed, or choose a provider: hermes model"
        raise Misconfigured(KEY, f"the built-in model could not be installed ({why})", fix)
