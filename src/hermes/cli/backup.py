"""hermes backup: a consistent copy of everything in one file, while others go on writing."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hermes import __version__
from hermes.app import store_only
from hermes.cli import backup_grammar as grammar
from hermes.cli.archive import AUDIT_KEY, FOLDERS, FORMAT, TEXTS, Manifest, Packer, packed
from hermes.cli.config_file import without_secrets
from hermes.cli.errors import DONE
from hermes.cli.place import Place
from hermes.cli.times import file_stamp, iso
from hermes.core.errors import Rejected, StoreFailed
from hermes.settings import Settings
from hermes.settings.home import CONFIG, DATABASE, SECRETS
from hermes.settings.sources import read_text


def run(given: grammar.Backup, place: Place) -> int:
    settings = place.settings()
    if not place.home.is_dir():
        raise Rejected(f"{place.home} does not exist: there is nothing to back up yet")
    target = Path(given.file or f"hermes-{file_stamp(place.clock())}.tar.gz").absolute()
    if target.exists() and not given.force:
        raise Rejected(f"{target} exists. Add --force to replace it")
    try:
        _write(given, place, settings, target)
    except OSError as refused:
        raise StoreFailed(f"{target}: cannot be written ({refused.strerror})") from refused
    place.console.say(str(target))
    if not given.with_secrets:
        place.console.tell(
            "Without secrets: keep .env and audit.key yourself, or add --with-secrets"
        )
    return DONE


def _write(given: grammar.Backup, place: Place, settings: Settings, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".hermes-", dir=target.parent) as aside:
        database = asyncio.run(_database(place, settings, Path(aside) / DATABASE))
        with packed(target) as packer:
            _pack(packer, place, database, secrets=given.with_secrets)
            manifest = Manifest(
                format=FORMAT,
                hermes=__version__,
                made_at=iso(place.clock()) or "",
                secrets=given.with_secrets,
                files=packer.files,
            )
            packer.seal(manifest)


async def _database(place: Place, settings: Settings, copy: Path) -> Path | None:
    if settings.store.url != "sqlite":
        place.console.tell("The database is on PostgreSQL and is not in here: use pg_dump for it")
        return None
    if not (place.home / DATABASE).exists():
        return None
    async with store_only(place.home, settings) as store:
        await store.upkeep.backup(str(copy))
    return copy


def _pack(packer: Packer, place: Place, database: Path | None, *, secrets: bool) -> None:
    if database is not None:
        packer.add(DATABASE, database)
    config = place.home / CONFIG
    if config.is_file() and not secrets:
        packer.add_bytes(CONFIG, without_secrets(read_text(config)).encode(), config.stat())
    names = [*TEXTS, *((CONFIG, SECRETS, AUDIT_KEY) if secrets else ())]
    for name in names:
        if (place.home / name).is_file():
            packer.add(name, place.home / name)
    for folder in FOLDERS:
        for file in _files(place, place.home / folder):
            packer.add(file.relative_to(place.home).as_posix(), file)


def _files(place: Place, folder: Path) -> Iterator[Path]:
    """Plain files below a folder. Links lead elsewhere and stay out, which is said."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in sorted((*names, *links)):
            file = Path(parent) / name
            plain = file.is_file() and not file.is_symlink() and name.isprintable()
            if plain and not (name.startswith(".") and name.endswith(".half")):
                yield file
            elif not plain:
                place.console.tell(f"Left out, because it is no plain file: {file}")
