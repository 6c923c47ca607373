"""hermes config show, get, path: settings as they are in force, without any secret."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from hermes.cli import config_grammar as grammar
from hermes.cli.command import Shown
from hermes.cli.errors import DONE, FAILED, Usage
from hermes.cli.place import Place
from hermes.settings import Settings
from hermes.settings.check import closest, type_at
from hermes.settings.home import CONFIG, DATABASE, SECRETS
from hermes.settings.shape import NOT_SET, is_secret
from hermes.settings.sources import overrides, read_config

HIDDEN = "•••"
_PASSWORD = re.compile(r"(?<=://)([^:@/]*):[^@]*@")


def run_show(given: Shown, place: Place) -> int:
    settings = place.settings()
    tree = shown(settings)
    if given.json:
        place.console.document(tree)
        return DONE
    source = _Sources(place, settings)
    rows = [(".".join(path), _text(value), source(path)) for path, value in leaves(tree)]
    place.console.table(("KEY", "VALUE", "FROM"), rows)
    return DONE


def run_get(given: grammar.Key, place: Place) -> int:
    path = tuple(given.key.split("."))
    node: object = shown(place.settings())
    for name in path:
        if not isinstance(node, Mapping) or name not in node:
            return _absent(place, path)
        node = node[name]
    if given.json:
        place.console.document(node)
    elif isinstance(node, Mapping) and node:
        for below, value in leaves(node, path):
            place.console.say(f"{'.'.join(below)} {_text(value)}".rstrip())
    else:
        place.console.say(_text(node))
    return DONE


def run_path(given: Shown, place: Place) -> int:
    home = place.home
    if given.json:
        names = {"config": CONFIG, "secrets": SECRETS, "database": DATABASE}
        paths = {name: str(home / file) for name, file in names.items()}
        place.console.document({"home": str(home), **paths})
    else:
        place.console.say(str(home / CONFIG))
    return DONE


def shown(settings: Settings) -> dict[str, object]:
    """The tree as the file would have it, with every secret hidden."""
    tree: dict[str, object] = msgspec.to_builtins(settings)
    return {name: _hidden(value, (name,)) for name, value in tree.items() if name not in NOT_SET}


def leaves(
    tree: Mapping[str, object], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value with the path of keys that leads to it."""
    for name, value in tree.items():
        here = (*path, name)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, here)
        else:
            yield here, value


def unknown(path: tuple[str, ...]) -> Usage:
    """What to say about a key that does not exist."""
    parent: object = shown(Settings())
    for name in path:
        if not isinstance(parent, Mapping) or name not in parent:
            break
        parent = parent[name]
    near = closest(path[-1], parent) if isinstance(parent, Mapping) else ""
    meant = f"Did you mean {near}?" if near else "See: hermes config show"
    return Usage(f"there is no setting “{'.'.join(path)}”. {meant}")


def _absent(place: Place, path: tuple[str, ...]) -> int:
    if type_at(path) is None:
        raise unknown(path)
    place.console.tell(f"{'.'.join(path)} is not set")
    return FAILED


def _hidden(value: object, path: tuple[str, ...]) -> object:
    if isinstance(value, Mapping):
        return {name: _hidden(inner, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(inner, path) for inner in value]
    if is_secret(path) and value not in ("", None):
        return HIDDEN
    return _PASSWORD.sub(rf"\1:{HIDDEN}@", value) if isinstance(value, str) else value


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class _Sources:
    """Where each value came from."""

    def __init__(self, place: Place, settings: Settings) -> None:
        self._file = read_config(place.home / CONFIG)
        self._environ = place.environ
        _tree, self._origins = overrides(settings.secrets)

    def __call__(self, path: tuple[str, ...]) -> str:
        for length in range(len(path), 0, -1):
            variable = self._origins.get(".".join(path[:length]))
            if variable is not None:
                return variable if variable in self._environ else f"{SECRETS}: {variable}"
        node: object = self._file
        for name in path:
            if not isinstance(node, Mapping) or node.get(name) is None:
                return "default"
            node = node[name]
        return CONFIG
