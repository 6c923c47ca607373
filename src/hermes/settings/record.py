"""Which settings are in force, as far as the audit log has been told, and what has changed since.

A file can be edited by anybody who may write to the home. Whoever begins to work by other settings
than those before says so in the log first.
"""

import hmac
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from hermes.core.audit import entry
from hermes.core.errors import Misconfigured
from hermes.core.store import Audit
from hermes.settings.home import SECRETS
from hermes.settings.shape import NOT_SET, Settings, is_secret
from hermes.settings.sources import read_secrets
from hermes.views.files import whole_file

FILE = "audit.settings"
BYTES_MAX = 1_000_000
VALUE_CHARS_MAX = 200
SEAL_CHARS = 16
DEFAULT, SECRET = "(default)", "(secret)"

_noted = msgspec.json.Decoder(dict[str, str])


def in_force(home: Path, settings: Settings, key: bytes) -> Mapping[str, str]:
    """Every setting that is not its default, by its name, and all of .env. Of what is secret only
    a seal, by which another value is noticed."""
    usual = dict(_leaves(msgspec.to_builtins(Settings())))
    found = dict(_leaves(msgspec.to_builtins(settings)))
    told = {
        ".".join(path): _sealed(key, value) if is_secret(path) else value
        for path, value in found.items()
        if path[0] not in NOT_SET and usual.get(path) != value
    }
    try:
        stored, _ = read_secrets(home / SECRETS)
    except Misconfigured:  # it is somebody else's to say so
        stored = {}
    return {**told, **{f"{SECRETS} {name}": _sealed(key, value) for name, value in stored.items()}}


async def note_changes(
    audit: Audit, home: Path, now: Mapping[str, str], *, by: str, at: float
) -> None:
    """The log first: a death in between says it twice, never not at all. Raises StoreFailed."""
    before = _read(home / FILE)
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not names:
        return
    changed = {name: _shown(now.get(name, DEFAULT)) for name in names}
    await audit.write([entry("configured", at, changed=changed, by=by)])
    whole_file(home / FILE, msgspec.json.encode(dict(now), order="sorted") + b"\n")


def _leaves(tree: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from _leaves(value, (*path, str(name)))
    else:
        yield path, tree if isinstance(tree, str) else msgspec.json.encode(tree).decode()


def _sealed(key: bytes, value: str) -> str:
    return f"{SECRET} {hmac.digest(key, value.encode(), 'sha256').hex()[:SEAL_CHARS]}"


def _shown(value: str) -> str:
    return SECRET if value.startswith(SECRET) else value[:VALUE_CHARS_MAX]


def _read(file: Path) -> Mapping[str, str]:
    """One that is missing or no record says nothing: then everything is told once more."""
    try:
        with file.open("rb") as noted:
            return _noted.decode(noted.read(BYTES_MAX))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
