"""hermes restore: check a backup, then put it into its home and keep what it replaces.

The database is replaced last and by one rename, so a crash leaves either the old or the new one.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.app.application import store_only
from hermes.cli.backup.archive import ArchiveManifest, unpack
from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.output.times import file_stamp
from hermes.core.errors import Rejected, StoreBusy, StoreFailed
from hermes.settings import Settings, prepare, survey
from hermes.settings.home import DATABASE
from hermes.views.files import flush_folder, make_folder, unwritable

if TYPE_CHECKING:
    from argparse import ArgumentParser


STAGING = ".restore-"
LOGS = (f"{DATABASE}-wal", f"{DATABASE}-shm", "audit.heads")  # of the one that is replaced


class RestoreOptions:
    file: str
    force: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("file", metavar="FILE", help="made by: hermes backup")
    parser.add_argument("--force", action="store_true", help="replace the existing database")


def run(options: RestoreOptions, context: CliContext) -> int:
    home = context.home
    if not Path(options.file).is_file():
        raise Rejected(f"{options.file}: there is no such file")
    if alive(home):
        raise StoreBusy(f"Hermes is running on {home}. Stop it, then restore")
    if (home / DATABASE).exists() and not options.force:
        raise Rejected(
            f"{home} has conversations. Add --force to replace them; replaced/ keeps the old ones"
        )
    prepare(home)
    try:
        with tempfile.TemporaryDirectory(prefix=STAGING, dir=home) as folder:
            staged = Path(folder)
            manifest = unpack(Path(options.file), staged)
            asyncio.run(_examine(staged, home))
            name = f"{file_stamp(context.clock())}-{os.getpid()}"
            kept = _exchange(staged, home, home / "replaced" / name)
    except OSError as refused:
        raise unwritable(home, refused) from refused
    _report(context, manifest, kept)
    return DONE


def alive(home: Path) -> bool:
    """Return True if a process holds the lock of this home."""
    for lock in (home / "nodes").glob("*.lock"):
        try:
            handle = os.open(lock, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False


async def _examine(staged: Path, home: Path) -> None:
    """Check that the new database is intact, and checkpoint the old one's log if possible."""
    if (staged / DATABASE).exists():
        async with store_only(staged, Settings()) as store:
            problems = await store.upkeep.check()
        if problems:
            raise Rejected(f"the database in the backup is damaged: {problems[0]}")
    if (home / DATABASE).exists():
        with suppress(StoreFailed):
            async with store_only(home, Settings()):
                pass


def _exchange(staged: Path, home: Path, kept: Path) -> Path | None:
    """Move everything into place. Undo all moves when one of them fails."""
    names = sorted((path.name for path in staged.iterdir()), key=lambda name: name == DATABASE)
    undo: list[tuple[Path, Path]] = []
    try:
        for name in names:
            if name == DATABASE:
                for log in LOGS:
                    _aside(home / log, kept, undo)
                _replace_database(staged, home, kept)
                continue
            _aside(home / name, kept, undo)
            (staged / name).rename(home / name)
            undo.append((home / name, staged / name))
    except OSError:
        for now, before in reversed(undo):
            with suppress(OSError):
                now.rename(before)
        raise
    flush_folder(home)
    return kept if kept.exists() else None


def _aside(path: Path, kept: Path, undo: list[tuple[Path, Path]]) -> None:
    if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
        path.rmdir()  # nothing was there
    elif os.path.lexists(path):
        make_folder(kept)
        path.rename(kept / path.name)
        undo.append((kept / path.name, path))


def _replace_database(staged: Path, home: Path, kept: Path) -> None:
    """Replace the database atomically. The old file gets a second name before the new one takes its
    place."""
    if (home / DATABASE).exists():
        make_folder(kept)
        try:
            (kept / DATABASE).hardlink_to(home / DATABASE)
        except OSError:  # a file system without second names
            shutil.copy2(home / DATABASE, kept / DATABASE)
    (staged / DATABASE).replace(home / DATABASE)


def _report(context: CliContext, manifest: ArchiveManifest, kept: Path | None) -> None:
    context.console.say(f"Restored what Hermes {manifest.hermes} backed up at {manifest.made_at}")
    if kept is not None:
        context.console.tell(f"What was there before is in {kept}")
    _settings, problems = survey(context.home, context.environ)
    for problem in problems[:1]:
        context.console.tell(f"Next, {problem}")


COMMAND = CliCommand(
    options=RestoreOptions,
    run=run,
    arguments=_arguments,
)
