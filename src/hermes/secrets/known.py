"""Which values are secrets: those of settings at secret places, those of .env, those in URLs."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from hermes.secrets.variants import is_hidable
from hermes.settings import Settings
from hermes.settings.shape import NOT_SET, is_secret
from hermes.settings.sources import PREFIX
from hermes.views.expressions import Expression

CHARS_MAX = 20_000  # of one value
RANDOM_CHARS_MIN = 16
_NAMES = Expression(
    r"(?:key|token|secret|passw(?:or)?d|passphrase|pass|pwd|credentials?|auth|cookie|dsn|pat)$",
    re.IGNORECASE,
)
_FOLDERS = frozenset({"PWD", "OLDPWD"})  # the shell's own: where it is, no password
_PASSWORD = Expression(r"://[^\s/:@]{0,128}:([^\s/@]{1,512})@")
_SCHEME = Expression(r"(?:bearer|basic|token)\s+(\S+)", re.IGNORECASE)
# Headers whose values are no secrets and stand in many texts.
_OPEN_HEADERS = frozenset(
    {"accept", "accept-language", "anthropic-beta", "anthropic-version", "content-type"}
    | {"http-referer", "openai-beta", "referer", "user-agent", "x-title"}
)


def secrets_of(settings: Settings) -> frozenset[str]:
    """Everything secret in settings as they were read, and in the process's environment."""
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
    """Of a file that is there for secrets (.env): also what only looks like one."""
    found: set[str] = set()
    for name, value in stored.items():
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        if _NAMES.search(name) or is_secret(path) or _is_random(value):
            found.update(_parts(value))
        else:
            found.update(_PASSWORD.findall(value))
    return frozenset(value for value in found if is_hidable(value))


def _nested(path: tuple[str, ...], value: object) -> Iterator[str]:
    """The secrets somewhere in a tree, and the passwords of its URLs."""
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
    """The whole value; behind the name of a scheme, and in a URL, the secret part of it, too."""
    value = value[:CHARS_MAX].strip()
    yield value
    if (found := _SCHEME.fullmatch(value)) is not None:
        yield found[1]
    yield from _PASSWORD.findall(value)


def _is_random(value: str) -> bool:
    """Letters and digits in one long word that is no path and no address."""
    return (
        len(value) >= RANDOM_CHARS_MIN
        and not any(each.isspace() for each in value)
        and not value.startswith(("/", "./", "../", "~/"))
        and "://" not in value
        and any(each.isdigit() for each in value)
        and any(each.isalpha() for each in value)
    )
