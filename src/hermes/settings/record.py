"""Write changes of settings to the audit log, by comparing them with the last known ones.

Anyone who may write to the home can edit the files. So a process that starts with changed settings
logs the change first.
"""

import hashlib
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
from hermes.views.folder_trust import FolderAnswer, answers_in

FILE = "audit.settings"
BYTES_MAX = 1_000_000
VALUE_CHARS_MAX = 200
SEAL_CHARS = 16
DEFAULT, SECRET = "(default)", "(secret)"

_noted = msgspec.json.Decoder(dict[str, str])


def in_force(home: Path, settings: Settings, key: bytes) -> Mapping[str, str]:
    """Return every setting that differs from its default, and all of .env. A secret is replaced by
    its HMAC, which shows a change without the value."""
    usual = dict(_leaves(msgspec.to_builtins(Settings())))
    found = dict(_leaves(msgspec.to_builtins(settings)))
    told = {
        ".".join(path): _sealed(key, value) if is_secret(path) else value
        for path, value in found.items()
        if path[0] not in NOT_SET and usual.get(path) != value
    }
    try:
        stored, _ = read_secrets(home / SECRETS)
    except Misconfigured:  # the reader of the settings reports this
        stored = {}
    secrets = {f"{SECRETS} {name}": _sealed(key, value) for name, value in stored.items()}
    return {
        **told,
        **secrets,
        **{f"folder {each.folder}": _said(each) for each in answers_in(home)},
    }


def _said(answer: FolderAnswer) -> str:
    """Describe an answer, with part of its digest: an answer about other bytes gets a new log
    entry."""
    files = hashlib.sha256(msgspec.json.encode(dict(answer.files), order="sorted")).hexdigest()
    return f"{'trusted' if answer.trusted else 'not trusted'} {files[:SEAL_CHARS]}"


async def note_changes(
    audit: Audit, home: Path, now: Mapping[str, str], *, by: str, at: float
) -> None:
    """Log the differences, then store the new state. A crash in between logs them twice, never zero
    times. Raise StoreFailed."""
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
    """Return the stored state; empty if it is missing or damaged, so that everything is logged
    again."""
    try:
        with file.open("rb") as noted:
            return _noted.decode(noted.read(BYTES_MAX))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
