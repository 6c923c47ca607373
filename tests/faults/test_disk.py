"""A full, broken, read-only or locked disk: stop writing, say so, lose nothing, go on later."""

import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from hermes.core.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
)
from hermes.core.ids import NodeId, SessionId
from hermes.core.store import Store
from hermes.stores.sqlite import open_sqlite
from tests.crash.fuse import Fuse
from tests.crash.laws import check
from tests.crash.world import Case, live, notes, say
from tests.faults.disk import BadVFS, Disk, Kind
from tests.faults.haste import hastily

# A disk that fails while the file is closed is reported by apsw to nobody in particular.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
PARTS = 6
LASTING = 10


async def one_life(home: Path, disk: Disk) -> StoreFailed | None:
    """A whole turn on such a disk; the error that ended it, if one did."""
    name = f"bad{id(disk)}"
    vfs = BadVFS(disk, name)
    try:
        await live(Case(home=home, fuse=Fuse()), vfs=name)
    except StoreFailed as failure:
        return failure
    finally:
        vfs.unregister()
    return None


def made(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


async def fill(store: Store, numbers: Iterable[int]) -> None:
    for number in numbers:
        await store.journal.accept(say(number), opens=SessionId("s1"))


@contextmanager
def mounted(folder: Path, *how: str) -> Iterator[None]:
    """A mount of the test's own, where that is allowed."""
    command = ["mount", *how, str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", ["full", "broken"])
def test_a_disk_that_fails_once_at_any_write_loses_nothing(
    quick_path: Path, part: int, kind: Kind
) -> None:
    hastily(fails_once(quick_path, part, kind))


async def fails_once(folder: Path, part: int, kind: Kind) -> None:
    whole = Disk()
    assert await one_life(made(folder, "whole"), whole) is None
    for at in range(1 + part, whole.touches, PARTS * 2):
        home = made(folder, str(at))
        disk = Disk(at=at, kind=kind)
        failure = await one_life(home, disk)
        if failure is not None:
            await one_life(home, Disk())
        await check(home, messages=1, deaths=1, keyed=True)


@pytest.mark.parametrize("kind", ["full", "broken"])
def test_a_disk_that_stays_bad_stops_the_process_with_a_reason(
    quick_path: Path, kind: Kind
) -> None:
    hastily(stays_bad(quick_path, kind))


async def stays_bad(folder: Path, kind: Kind) -> None:
    whole = Disk()
    await one_life(made(folder, "whole"), whole)
    for at in range(20, whole.touches, whole.touches // LASTING):
        home = made(folder, str(at))
        failure = await one_life(home, Disk(at=at, kind=kind, lasting=True))
        if failure is None:
            assert len(notes(home / "sent")) == 2, "it gave up without a word"
        else:
            assert str(home) in str(failure)
            assert ("full" if kind == "full" else "disk failed") in str(failure)
            await one_life(home, Disk())
        await check(home, messages=1, deaths=1, keyed=True)


async def test_a_really_full_disk_is_survived(tmp_path: Path) -> None:
    """A file system of 400 kB, where mounting one is allowed."""
    small = tmp_path / "small"
    small.mkdir()
    with mounted(small, "-t", "tmpfs", "-o", "size=400k", "tmpfs"):
        store = await open_sqlite(small / "hermes.db", clock=time.time)
        with pytest.raises(StoreFull, match="disk is full"):
            await fill(store, range(1, 10_000))
        session = await store.journal.load(say(1).session)
        kept = len(session.waiting)
        assert kept > 3, "what was acknowledged is there"
        with pytest.raises(StoreFull):
            await fill(store, [kept + 1])
        remount = ["mount", "-o", "remount,size=4m", str(small)]
        subprocess.run(remount, check=True)  # noqa: ASYNC221 (nothing else runs here)
        await fill(store, [kept + 1])
        assert len((await store.journal.load(say(1).session)).waiting) == kept + 1
        assert await store.upkeep.check() == []
        await store.upkeep.close()


async def test_a_read_only_disk_is_readable_and_says_so(tmp_path: Path) -> None:
    disk, view = tmp_path / "disk", tmp_path / "view"
    disk.mkdir()
    view.mkdir()
    store = await open_sqlite(disk / "hermes.db", clock=time.time)
    await fill(store, [1])
    await store.upkeep.close()
    with mounted(view, "--bind", str(disk)):
        remount = ["mount", "-o", "remount,ro,bind", str(view)]
        subprocess.run(remount, check=True)  # noqa: ASYNC221 (nothing else runs here)
        frozen = await open_sqlite(view / "hermes.db", clock=time.time)
        assert len((await frozen.journal.load(say(1).session)).waiting) == 1
        assert len(await frozen.library.sessions(limit=5)) == 1
        with pytest.raises(StoreReadOnly, match="read-only"):
            await fill(frozen, [2])
        await frozen.upkeep.close()


async def test_a_locked_file_is_waited_for_and_then_named(tmp_path: Path) -> None:
    store = await open_sqlite(tmp_path / "hermes.db", clock=time.time, busy_ms=200)
    other = apsw.Connection(str(tmp_path / "hermes.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="another program holds"):
        await store.journal.accept(say(1), opens=SessionId("s1"))
    other.execute("ROLLBACK")
    other.close()
    assert (await store.journal.accept(say(1), opens=SessionId("s1"))).fresh
    await store.upkeep.close()


async def test_a_damaged_file_is_found_and_what_is_whole_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "hermes.db"
    store = await open_sqlite(path, clock=time.time)
    await fill(store, range(1, 400))
    await store.upkeep.close()
    whole = path.read_bytes()
    sound = len(whole) * 3 // 4 // 4096 * 4096  # the schema and the small tables lie before that
    path.write_bytes(whole[:sound] + b"\xff" * (len(whole) - sound))
    store = await open_sqlite(path, clock=time.time)
    assert await store.upkeep.check() != []
    assert len(await store.library.sessions(limit=5)) == 1
    with pytest.raises(StoreCorrupt, match="hermes doctor"):
        await fill(store, range(400, 2_000))
    with pytest.raises(StoreCorrupt):
        await store.nodes.join(NodeId("late"))
    await store.upkeep.close()


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "hermes.db").write_text("something else " * 100)
    with pytest.raises(StoreCorrupt, match="hermes doctor"):
        await open_sqlite(tmp_path / "hermes.db", clock=time.time)


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="cannot be opened"):
        await open_sqlite(tmp_path / "none" / "hermes.db", clock=time.time)
