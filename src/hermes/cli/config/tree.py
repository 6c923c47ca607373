"""The tree of settings for display: secrets hidden, each value with its key."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from hermes.cli.errors import UsageError
from hermes.settings import Settings
from hermes.settings.check import closest
from hermes.settings.shape import NOT_SET, is_secret

HIDDEN = "•••"
_PASSWORD = re.compile(r"(?<=://)([^:@/]*):[^@]*@")


def settings_tree(settings: Settings) -> dict[str, object]:
    """Return the settings in the form of the file, with every secret hidden."""
    tree: dict[str, object] = msgspec.to_builtins(settings)
    return {name: _hidden(value, (name,)) for name, value in tree.items() if name not in NOT_SET}


def leaves(
    tree: Mapping[str, object], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every value with the path of keys that leads to it."""
    for name, value in tree.items():
        here = (*path, name)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, here)
        else:
            yield here, value


def unknown_setting(path: tuple[str, ...]) -> UsageError:
    """Return the error for a key that does not exist."""
    parent: object = settings_tree(Settings())
    for name in path:
        if not isinstance(parent, Mapping) or name not in parent:
            break
        parent = parent[name]
    near = closest(path[-1], parent) if isinstance(parent, Mapping) else ""
    meant = f"Did you mean {near}?" if near else "See: hermes config show"
    return UsageError(f"there is no setting “{'.'.join(path)}”. {meant}")


def _hidden(value: object, path: tuple[str, ...]) -> object:
    if isinstance(value, Mapping):
        return {name: _hidden(inner, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(inner, path) for inner in value]
    if is_secret(path) and value not in ("", None):
        return HIDDEN
    return _PASSWORD.sub(rf"\1:{HIDDEN}@", value) if isinstance(value, str) else value


def value_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
