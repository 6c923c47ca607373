"""Which models get the profile for small models: few words, few tools, calls by grammar. Pure."""

import re
from typing import Final

from hermes.providers.catalogue import ENTRIES, canonical
from hermes.providers.settings import ProviderSettings
from hermes.wire.route import is_loopback

SMALL_BILLIONS_MAX: Final = 4.5  # of parameters, as far as the model's name tells them
TOOLS: Final = (
    "terminal",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "todo",
    "session_search",
    "memory",
)
_SIZE: Final = re.compile(r"(?i)(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,2})?)([bm])(?![a-z0-9])")


def is_small(model: ProviderSettings) -> bool:
    """Return whether the model gets the small profile: because the setting says so, or because it
    runs on this machine and its name tells that it is small."""
    if model.profile != "auto":
        return model.profile == "small"
    entry = ENTRIES.get(canonical(model.provider) or "")
    if entry is None or not entry.local or entry.protocol not in ("openai", "local"):
        return False
    if model.base_url and not is_loopback(model.base_url):
        return False
    if entry.protocol == "local" and not model.name:
        return True  # the built-in model that is here, and none of those is large
    billions = parameters(model.name)
    if billions is None:
        return entry.protocol == "local"  # the weights that come with Hermes are small
    return billions <= SMALL_BILLIONS_MAX


def parameters(name: str) -> float | None:
    """Return the size that a name tells, in billions. Of several numbers the largest counts: in
    `30b-a3b` the second one says how many are active."""
    found = [float(number) / (1 if unit in "bB" else 1_000) for number, unit in _SIZE.findall(name)]
    return max(found, default=None)
