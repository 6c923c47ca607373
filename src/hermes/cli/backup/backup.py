"""hermes backup: copy everything into one consistent file, while other processes keep writing."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hermes import __version__
from hermes.app.application import store_only
from hermes.cli.backup.archive import (
    AUDIT_KEY,
    FOLDERS,
    FORMAT,
    TEXTS,
    ArchiveManifest,
    Packer,
    packed,
)
from hermes.cli.command import CliCommand
from hermes.cli.config.file import without_secrets
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.output.times import file_stamp, iso
from hermes.core.errors import Rejected
from hermes.settings import Settings
from hermes.settings.home import CONFIG, DATABASE, SECRETS
from hermes.settings.sources import read_text
from hermes.views.files import unwritable

if TYPE_CHECKING:
    from argparse import ArgumentParser


class BackupOptions:
    file: str | None
    with_secrets: bool
    force: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="default: a new name in this folder"
    )
    parser.add_argument("--with-secrets", action="store_true", help="include .env")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def run(options: BackupOptions, context: CliContext) -> int:
    settings = context.settings()
    if not context.home.is_dir():
        raise Rejected(f"{context.home} does not exist: there is nothing to back up yet")
    target = Path(options.file or f"hermes-{file_stamp(context.clock())}.tar.gz").absolute()
    if target.exists() and not options.force:
        raise Rejected(f"{target} exists. Add --force to replace it")
    try:
        _write(options, context, settings, target)
    except OSError as refused:
        raise unwritable(target, refused) from refused
    context.console.say(str(target))
    if not options.with_secrets:
        context.console.tell(
            "Without secrets: keep .env and audit.key yourself, or add --with-secrets"
        )
    return DONE


def _write(options: BackupOptions, context: CliContext, settings: Settings, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".hermes-", dir=target.parent) as aside:
        database = asyncio.run(_database(context, settings, Path(aside) / DATABASE))
        with packed(target) as packer:
            _pack(packer, context, database, secrets=options.with_secrets)
            manifest = ArchiveManifest(
                format=FORMAT,
                hermes=__version__,
                made_at=iso(context.clock()) or "",
                secrets=options.with_secrets,
                files=packer.files,
            )
            packer.seal(manifest)


async def _database(context: CliContext, settings: Settings, copy: Path) -> Path | None:
    if settings.store.url != "sqlite":
        context.console.tell("The database is on PostgreSQL and is not in here: use pg_dump for it")
        return None
    if not (context.home / DATABASE).exists():
        return None
    async with store_only(context.home, settings) as store:
        await store.upkeep.backup(str(copy))
    return copy


def _pack(packer: Packer, context: CliContext, database: Path | None, *, secrets: bool) -> None:
    if database is not None:
        packer.add(DATABASE, database)
    config = context.home / CONFIG
    if config.is_file() and not secrets:
        packer.add_bytes(CONFIG, without_secrets(read_text(config)).encode(), config.stat())
    names = [*TEXTS, *((CONFIG, SECRETS, AUDIT_KEY) if secrets else ())]
    for name in names:
        if (context.home / name).is_file():
            packer.add(name, context.home / name)
    for folder in FOLDERS:
        for file in _files(context, context.home / folder):
            packer.add(file.relative_to(context.home).as_posix(), file)


def _files(context: CliContext, folder: Path) -> Iterator[Path]:
    """Yield the plain files below a folder. Links are left out, and the person is told."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in sorted((*names, *links)):
            file = Path(parent) / name
            plain = file.is_file() and not file.is_symlink() and name.isprintable()
            if plain and not (name.startswith(".") and name.endswith(".half")):
                yield file
            elif not plain:
                context.console.tell(f"Skipped, because it is not a regular file: {file}")


COMMAND = CliCommand(
    options=BackupOptions,
    run=run,
    arguments=_arguments,
)
