"""hermes config set: one value, checked before it is written; secrets go into .env."""

import asyncio
import getpass
import re
from pathlib import Path

from hermes.app import note_settings, store_only
from hermes.cli import config_grammar as grammar
from hermes.cli.config import unknown
from hermes.cli.config_file import save_secret, save_setting
from hermes.cli.errors import DONE, Usage
from hermes.cli.place import Place
from hermes.core.errors import Misconfigured, StoreFailed
from hermes.settings import prepare, survey
from hermes.settings.check import Checker, type_at
from hermes.settings.home import CONFIG, DATABASE, SECRETS
from hermes.settings.shape import Section, is_secret
from hermes.settings.sources import PREFIX, read_config, value_at

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_PLAIN = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


def run(given: grammar.Assignment, place: Place) -> int:
    return assign(place, given.key, given.value)


def assign(place: Place, key: str, value: str) -> int:
    """Raises Usage and Misconfigured. A value of “-” is asked for, so that no one sees it."""
    if _NAME.fullmatch(key):
        return _keep_secret(place, key, _value(place, key, value, hide=True))
    path = tuple(key.split("."))
    type_ = type_at(path)
    if type_ is None or not all(path):
        raise unknown(path)
    if (isinstance(type_, type) and issubclass(type_, Section)) or key == "platforms":
        raise Usage(f"{key} is a whole section. Set one of its keys, or run: hermes config edit")
    parsed = value_at(path, _value(place, key, value, hide=is_secret(path)))
    _check(place, path, parsed)
    if is_secret(path[-1:]) and isinstance(parsed, str) and _PLAIN.fullmatch(key):
        return _keep_apart(place, path, parsed)
    prepare(place.home)
    save_setting(place.home / CONFIG, path, parsed)
    _record(place)
    _said(place, key, place.home / CONFIG)
    _warn_when_overridden(place, path)
    return DONE


def _keep_apart(place: Place, path: tuple[str, ...], value: str) -> int:
    """A secret of config.yaml stands in .env under the name of its variable instead."""
    file = place.home / CONFIG
    if file.exists():
        save_setting(file, path, None)
    return _keep_secret(place, PREFIX + "__".join(path).upper(), value)


def _keep_secret(place: Place, name: str, value: str) -> int:
    prepare(place.home)
    save_secret(place.home / SECRETS, name, value)
    _record(place)
    _said(place, name, place.home / SECRETS)
    if name in place.environ:
        place.console.tell(f"{name} is also set in this environment, and that one wins")
    return DONE


def _record(place: Place) -> None:
    """In the audit log, where there is one; else the first who works by it says so."""
    settings, problems = survey(place.home, place.environ)
    if problems or (settings.store.url == "sqlite" and not (place.home / DATABASE).exists()):
        return

    async def note() -> None:
        async with store_only(place.home, settings) as store:
            await note_settings(store, place.home, settings, by="hermes config set")

    try:
        asyncio.run(note())
    except StoreFailed as failed:
        place.console.tell(f"The audit log will hear of it at the next start: {failed}")


def _value(place: Place, key: str, value: str, *, hide: bool) -> str:
    if value != "-":
        return value
    stdin = place.console.stdin
    if not stdin.isatty():
        return stdin.readline().rstrip("\r\n")
    if hide:
        return getpass.getpass(f"{key}: ")
    place.console.stderr.write(f"{key}: ")
    place.console.stderr.flush()
    return stdin.readline().rstrip("\n")


def _check(place: Place, path: tuple[str, ...], value: object) -> None:
    """Raises Misconfigured when this value is wrong; what else is wrong is not its business."""
    tree: object = value
    for name in reversed(path):
        tree = {name: tree}
    settings, _problems = survey(place.home, place.environ)
    checker = Checker(settings.secrets, {})
    if isinstance(tree, dict):
        checker.settings(tree)
    if checker.problems:
        raise checker.problems[0]
    node: object = read_config(place.home / CONFIG)
    for depth, name in enumerate(path[:-1], start=1):
        node = node.get(name) if isinstance(node, dict) else None
        if node is not None and not isinstance(node, dict):
            parent = ".".join(path[:depth])
            raise Misconfigured(parent, "is no section in config.yaml", "Run: hermes config edit")


def _warn_when_overridden(place: Place, path: tuple[str, ...]) -> None:
    settings, _problems = survey(place.home, place.environ)
    variable = PREFIX + "__".join(path).upper()
    if variable in settings.secrets:
        place.console.tell(f"{variable} is set as well, and that one wins")


def _said(place: Place, key: str, file: Path) -> None:
    place.console.say(f"{key} is set in {file}")
