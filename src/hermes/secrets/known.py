"""Collect the secret values: secret settings, values in .env, and passwords in URLs."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from hermes.lazy import LazyPattern
from hermes.secrets.variants import is_hidable
from hermes.settings import Settings
from hermes.settings.shape import NOT_SET, is_secret
from hermes.settings.sources import PREFIX

CHARS_MAX = 20_000  # characters of one value
RANDOM_CHARS_MIN = 16
_NAMES = LazyPattern(
    r"(?:key|token|secret|passw(?:or)?d|passphrase|pass|pwd|credentials?|auth|cookie|dsn|pat)$",
    re.IGNORECASE,
)
_FOLDERS = frozenset({"PWD", "OLDPWD"})  # set by the shell: paths, never passwords
_PASSWORD = LazyPattern(r"://[^\s/:@]{0,128}:([^\s/@]{1,512})@")
_SCHEME = LazyPattern(r"(?:bearer|basic|token)\s+(\S+)", re.IGNORECASE)
# Header values that are common words, not secrets.
_OPEN_HEADERS = frozenset(
    {"accept", "accept-language", "anthropic-beta", "anthropic-version", "content-type"}
    | {"http-referer", "openai-beta", "referer", "user-agent", "x-title"}
)


def secrets_of(settings: Settings) -> frozenset[str]:
    """Return all secrets in the settings and in the process environment."""
    tree: Mapping[str, object] = msgspec.to_builtins(settings)
    found = {
        part
        for name, value in tree.items()
        if name not in NOT_SET
        for text in _nested((name,), value)
        for part in _parts(text)
    }
    for name, value in settings.secrets.items():
        if _NAMES.search(name) and name not in _FOLDERS:
            found.update(_parts(value))
        else:
            found.update(_PASSWORD.findall(value))
    return frozenset(value for value in found if is_hidable(value))


def secrets_in(stored: Mapping[str, str]) -> frozenset[str]:
    """Return the secrets in .env, including values that only look like one."""
    found: set[str] = set()
    for name, value in stored.items():
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        if _NAMES.search(name) or is_secret(path) or _is_random(value):
            found.update(_parts(value))
        else:
            found.update(_PASSWORD.findall(value))
    return frozenset(value for value in found if is_hidable(value))


def _nested(path: tuple[str, ...], value: object) -> Iterator[str]:
    """Yield the secrets in a nested value, and the passwords in its URLs."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nested((*path, str(key)), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _nested(path, inner)
    elif is_secret(path) and path[-1].lower() not in _OPEN_HEADERS:
        yield str(value)
    elif isinstance(value, str):
        yield from _PASSWORD.findall(value)


def _parts(value: str) -> Iterator[str]:
    """Yield the whole value, and its secret part after an auth scheme or inside a URL."""
    value = value[:CHARS_MAX].strip()
    yield value
    if (found := _SCHEME.fullmatch(value)) is not None:
        yield found[1]
    yield from _PASSWORD.findall(value)


def _is_random(value: str) -> bool:
    """Return True for one long word of letters and digits that is not a path or an address."""
    return (
        len(value) >= RANDOM_CHARS_MIN
        and not any(each.isspace() for each in value)
        and not value.startswith(("/", "./", "../", "~/"))
        and "://" not in value
        and any(each.isdigit() for each in value)
        and any(each.isalpha() for each in value)
    )
