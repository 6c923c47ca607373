"""hermes restore: a backup back into its home, checked first, with what it replaces kept aside.

The database is exchanged last and in one rename: a crash leaves either the old or the new one.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from hermes.app import store_only
from hermes.cli import backup_grammar as grammar
from hermes.cli.archive import Manifest, unpack
from hermes.cli.errors import DONE
from hermes.cli.place import Place
from hermes.cli.times import file_stamp
from hermes.core.errors import Rejected, StoreBusy, StoreFailed
from hermes.settings import Settings, prepare, survey
from hermes.settings.home import DATABASE
from hermes.views.files import flush_folder, make_folder

STAGING = ".restore-"
LOGS = (f"{DATABASE}-wal", f"{DATABASE}-shm", "audit.heads")  # of the one that is replaced


def run(given: grammar.Restore, place: Place) -> int:
    home = place.home
    if not Path(given.file).is_file():
        raise Rejected(f"{given.file}: there is no such file")
    if alive(home):
        raise StoreBusy(f"Hermes is running on {home}. Stop it, then restore")
    if (home / DATABASE).exists() and not given.force:
        raise Rejected(
            f"{home} has conversations. Add --force to replace them; they are kept aside"
        )
    prepare(home)
    try:
        with tempfile.TemporaryDirectory(prefix=STAGING, dir=home) as folder:
            staged = Path(folder)
            manifest = unpack(Path(given.file), staged)
            asyncio.run(_examine(staged, home))
            name = f"{file_stamp(place.clock())}-{os.getpid()}"
            kept = _exchange(staged, home, home / "replaced" / name)
    except OSError as refused:
        raise StoreFailed(f"{home}: cannot be written ({refused.strerror})") from refused
    _report(place, manifest, kept)
    return DONE


def alive(home: Path) -> bool:
    """Does a process hold the lock that says that it works on this home?"""
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
    """The new database must be whole; the old one puts its log away, if it still can."""
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
    """Move everything into place; undo it all when one move is refused."""
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
    """The old file gets a second name before the new one takes its first, in one step."""
    if (home / DATABASE).exists():
        make_folder(kept)
        try:
            (kept / DATABASE).hardlink_to(home / DATABASE)
        except OSError:  # a file system without second names
            shutil.copy2(home / DATABASE, kept / DATABASE)
    (staged / DATABASE).replace(home / DATABASE)


def _report(place: Place, manifest: Manifest, kept: Path | None) -> None:
    place.console.say(f"Restored what Hermes {manifest.hermes} backed up at {manifest.made_at}")
    if kept is not None:
        place.console.tell(f"What was there before is in {kept}")
    _settings, problems = survey(place.home, place.environ)
    for problem in problems[:1]:
        place.console.tell(f"Next, {problem}")
