"""Offer weights of built-in models, and say where they are fetched from.

Part of the composition root.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.app.models import weights_of
from hermes.lazy import LazyModule
from hermes.providers.weights.catalogue import (
    DEFAULT,
    ROOMY,
    ROOMY_FREE_BYTES,
    in_order,
    known_weights,
)
from hermes.providers.weights.catalogue import Weights as Weights
from hermes.providers.weights.here import has_engine as has_engine
from hermes.providers.weights.here import models_here
from hermes.providers.weights.watch import FetchWatch as FetchWatch
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.app import pips
    from hermes.providers.weights import fetch as fetching
    from hermes.providers.weights import packages, places
else:  # most processes fetch nothing
    pips = LazyModule("hermes.app.pips")
    fetching = LazyModule("hermes.providers.weights.fetch")
    packages = LazyModule("hermes.providers.weights.packages")
    places = LazyModule("hermes.providers.weights.places")

PUBLISHER = "https://huggingface.co/"
MIRROR = "HF_ENDPOINT"  # what other programs read, too, where the publisher cannot be reached


def offered_weights(settings: Settings) -> list[Weights]:
    """Return the weights that can be fetched, in the order in which they are offered."""
    return in_order(known_weights(weights_of(settings).path).values())


def default_weights(settings: Settings) -> Weights:
    """Return the weights that are fetched without a question."""
    return known_weights(weights_of(settings).path)[DEFAULT]


def fitting_weights(settings: Settings) -> Weights:
    """Return the weights to offer on this machine: larger ones where memory and disk have room."""
    folder = weights_of(settings)
    roomy = min(free_memory_bytes(), folder.free_bytes()) >= ROOMY_FREE_BYTES
    return known_weights(folder.path)[ROOMY if roomy else DEFAULT]


def weights_here(settings: Settings) -> list[str]:
    """Return the names of the models whose weights are here, the best one for a start first."""
    return [model.name for model in models_here(weights_of(settings))]


def bytes_missing(settings: Settings, weights: Weights) -> int:
    return weights.bytes - weights_of(settings).partial_bytes(weights)


async def fetch(settings: Settings, weights: Weights, source: str, watch: FetchWatch) -> Path:
    """Fetch weights. `source` is a file or a URL of the person's, which is asked alone. Raise
    Rejected or StoreFailed."""
    folder = weights_of(settings)

    def asked(watching: FetchWatch) -> "Sequence[places.FetchPlace]":
        if source:
            return [_named(source, weights)]
        environ = settings.secrets
        index = packages.PackagePlace(
            weights,
            folder,
            pips=pips.pip_commands(environ),
            environ=_for_pip(environ),
            watch=watching.coming,
        )
        return [
            *(places.FilePlace(file, weights) for file in _kept_by_others(weights, environ)),
            *(places.UrlPlace(url, weights) for url in _mirrored(weights.urls, environ)),
            *([index] if weights.parts else []),
        ]

    return await fetching.fetch_weights(weights, folder, asked, watch)


def free_memory_bytes() -> int:
    """Return how much memory is free, as far as this system tells; half of all of it elsewhere."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (OSError, ValueError):
        return 0


def _named(source: str, weights: Weights) -> "places.FetchPlace":
    if source.startswith(("http://", "https://")):
        return places.UrlPlace(source, weights)
    return places.FilePlace(Path(source).expanduser(), weights)


def _kept_by_others(weights: Weights, environ: Mapping[str, str]) -> Iterable[Path]:
    """Yield files of other programs that name what they keep by its digest, too."""
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        return
    ollama = Path(environ.get("OLLAMA_MODELS", "") or f"{home}/.ollama/models")
    hub = Path(environ.get("HF_HOME", "") or f"{home}/.cache/huggingface", "hub")
    found = [ollama / "blobs" / f"sha256-{weights.sha256}"]
    found += sorted(hub.glob(f"models--*/blobs/{weights.sha256}"))
    yield from (file for file in found if file.is_file())


def _mirrored(urls: Iterable[str], environ: Mapping[str, str]) -> Iterable[str]:
    mirror = environ.get(MIRROR, "").rstrip("/")
    for url in urls:
        if mirror.startswith("https://") and url.startswith(PUBLISHER):
            yield f"{mirror}/{url.removeprefix(PUBLISHER)}"
        yield url


def _for_pip(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment for pip. The index that uv was told of is pip's, too."""
    index = environ.get("UV_DEFAULT_INDEX", "") or environ.get("UV_INDEX_URL", "")
    return {"PIP_INDEX_URL": index, **environ} if index else environ
