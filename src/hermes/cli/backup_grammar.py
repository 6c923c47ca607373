"""The words of `hermes backup` and `hermes restore`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Backup:
    file: str | None
    with_secrets: bool
    force: bool


class Restore:
    file: str
    force: bool


def _backup(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="default: a new name in this folder"
    )
    parser.add_argument("--with-secrets", action="store_true", help="put .env into it as well")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def _restore(parser: "ArgumentParser") -> None:
    parser.add_argument("file", metavar="FILE", help="made by: hermes backup")
    parser.add_argument("--force", action="store_true", help="replace the database that is there")


BACKUP = Command(
    words=("backup",),
    summary="Write everything into one file; Hermes may go on working",
    given=Backup,
    load=loaders.backup,
    arguments=_backup,
)
RESTORE = Command(
    words=("restore",),
    summary="Put a backup back; what it replaces is kept aside",
    given=Restore,
    load=loaders.restore,
    arguments=_restore,
)
