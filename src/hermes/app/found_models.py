"""Find what a person has already: keys in the environment, and model servers on this computer.

Nothing is asked of a provider on the network here; a server on loopback is asked for its list of
models. Part of the composition root.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from hermes.core.errors import HermesError
from hermes.providers import build
from hermes.providers.catalogue import ENTRIES
from hermes.providers.settings import ProviderSettings, ProviderTimeouts
from hermes.settings import Settings

SERVER_S = 2.0  # for a server on this computer to list its models
LIST_S = 10.0  # for a provider on the network
CUSTOM = "custom"
OLLAMA = "OLLAMA_HOST"
LOOPBACK = "127.0.0.1"
# What is in a list of models and does not talk.
_SPEECHLESS = re.compile(
    r"embed|whisper|\btts\b|rerank|moderation|dall-e|image|audio|realtime|transcri|speech|ocr|bge-",
    re.I,
)


class FoundModel(Struct, frozen=True, kw_only=True):
    """A provider that a person can use at once. `key` is the name of the variable that holds its
    key; `models` is known of a server only."""

    provider: str
    title: str
    base_url: str = ""
    key: str = ""
    models: tuple[str, ...] = ()


def found_keys(settings: Settings) -> tuple[FoundModel, ...]:
    """Return the providers whose key is in the environment or in .env, in the catalogue's order."""
    return tuple(
        FoundModel(provider=name, title=entry.title, key=key)
        for name, entry in ENTRIES.items()
        if not entry.local
        for key in [next((key for key in entry.keys if settings.secrets.get(key, "").strip()), "")]
        if key
    )


async def found_servers(settings: Settings) -> tuple[FoundModel, ...]:
    """Return the servers on this computer that list models, in the catalogue's order."""
    candidates = list(_candidates(settings))
    asked = (_served(name, url, settings.secrets) for name, url in candidates)
    lists = await asyncio.gather(*asked)
    return tuple(
        FoundModel(provider=name, title=ENTRIES[name].title, base_url=url, models=models)
        for (name, url), models in zip(candidates, lists, strict=True)
        if models
    )


async def model_names(settings: Settings, found: FoundModel) -> tuple[str, ...]:
    """Return the models that a found provider offers and that can talk, the one to begin with
    first; empty if it does not answer."""
    names = found.models
    if not names:
        names = await _listed(found.provider, found.base_url, settings.secrets, LIST_S)
    return tuple(by_suggestion(found.provider, names))


def by_suggestion(provider: str, names: Iterable[str]) -> Sequence[str]:
    """Return the models that can talk, those that the catalogue suggests first."""
    able = [name for name in names if not _SPEECHLESS.search(name)]
    wanted = ENTRIES[provider].suggested

    def rank(name: str) -> int:
        places = (n for n, beginning in enumerate(wanted) if name.startswith(beginning))
        return next(places, len(wanted))

    return sorted(able, key=rank)


def _candidates(settings: Settings) -> Iterable[tuple[str, str]]:
    """Yield where to look, and which provider serves there usually."""
    usual = {entry.base_url: name for name, entry in ENTRIES.items() if entry.local}
    own = _ollama_url(settings.secrets.get(OLLAMA, ""))
    for url in settings.model.servers:
        name = usual.get(url.rstrip("/"), CUSTOM)
        yield name, own if own and name == "ollama" else url


def _ollama_url(said: str) -> str:
    """Return the address in Ollama's own variable, which may be a host, a port or a URL."""
    found = re.fullmatch(r"(?:http://)?([\w.-]+)?(?::(\d{1,5}))?/?", said.strip())
    if not said.strip() or found is None:
        return ""
    host = found[1] or LOOPBACK
    every = host.strip("0.") == ""  # it serves on all addresses, this computer's among them
    return f"http://{LOOPBACK if every else host}:{found[2] or '11434'}/v1"


async def _served(name: str, url: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(by_suggestion(name, await _listed(name, url, environ, SERVER_S)))


async def _listed(
    provider: str, url: str, environ: Mapping[str, str], limit_s: float
) -> tuple[str, ...]:
    settings = ProviderSettings(
        provider=provider, base_url=url, timeouts=ProviderTimeouts(connect_s=limit_s)
    )
    try:
        async with asyncio.timeout(limit_s):
            return tuple(each.id for each in await build.list_models(settings, environ))
    except (HermesError, TimeoutError):
        return ()
