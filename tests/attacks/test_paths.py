"""PATH-1: between judging a path and opening it there is nothing that anybody could change."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.messages import Outcome
from hermes.ports.terminal import Terminal
from hermes.terminals import confined_fs
from hermes.terminals.confined_fs import PLAIN, ConfinedFolder
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.files.opening import JudgedFiles
from hermes.tools.files.search import search_tool
from tests.unit.tools.tool_context import Desk

SWAPS = 2_500
HERE, EXCHANGE = -100, 2  # of renameat2
SECRET = b"the secret of the house"


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="swaps by renameat2")


@pytest.fixture
def files(tmp_path: Path) -> JudgedFiles:
    """Return a person's home with a workspace in it, our own home, and a key."""
    for name in ("work/docs", "work/.git/hooks", ".hermes/pairing", ".ssh", "notes"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work/docs/plan.txt").write_bytes(b"the plan")
    (tmp_path / ".hermes/plan.txt").write_bytes(SECRET)
    (tmp_path / ".hermes/.env").write_bytes(SECRET)
    (tmp_path / ".ssh/id_rsa").write_bytes(SECRET)
    (tmp_path / "notes/plan.txt").write_bytes(b"elsewhere")
    return judged(tmp_path / "work", tmp_path, tmp_path / ".hermes")


def judged(work: Path, home: Path, *guarded: Path) -> JudgedFiles:
    here = local(NoCommands(), work, home, *guarded)
    return JudgedFiles(here.files, here.places)


def local(terminal: Terminal, work: Path, home: Path, *guarded: Path) -> LocalWorkspace:
    ours = [str(each) for each in guarded]
    return LocalWorkspace(terminal, workdir=str(work), home=str(home), guarded=ours, ripgrep=False)


class NoCommands(Terminal):
    """Never used: only files are opened."""


@contextmanager
def swapping(folder: Path, leads_to: Path) -> Iterator[Callable[[], bool]]:
    """Swap the folder for a link and back in a loop (TOCTOU)."""
    link, swaps, stop = folder.with_name("link"), [0], threading.Event()
    link.symlink_to(leads_to)
    names = os.fsencode(folder), os.fsencode(link)
    exchange = ctypes.CDLL(None, use_errno=True).renameat2

    def swap() -> None:
        while not stop.is_set() or swaps[0] % 2:
            assert exchange(HERE, names[0], HERE, names[1], EXCHANGE) == 0, ctypes.get_errno()
            swaps[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield lambda: swaps[0] >= SWAPS or not thread.is_alive()
    finally:
        stop.set()
        thread.join()
    assert swaps[0] >= SWAPS


def test_path_01_a_folder_that_becomes_a_link_while_it_is_read_leaks_nothing(
    files: JudgedFiles, tmp_path: Path
) -> None:
    read: list[bytes] = []
    with swapping(tmp_path / "work/docs", tmp_path / ".hermes") as enough:
        while not enough():
            with suppress(ToolFailed):
                read.append(files.content(tmp_path / "work/docs/plan.txt", 1_000))
    assert set(read) <= {b"the plan"}


def test_path_01_outside_of_the_workspace_the_real_path_counts(
    files: JudgedFiles, tmp_path: Path
) -> None:
    read: list[bytes] = []
    with swapping(tmp_path / "notes", tmp_path / ".hermes") as enough:
        while not enough():
            with suppress(ToolFailed):
                read.append(files.content(tmp_path / "notes/plan.txt", 1_000))
    assert set(read) <= {b"elsewhere"}


def test_path_01_a_write_lands_beneath_its_root_or_nowhere(
    files: JudgedFiles, tmp_path: Path
) -> None:
    target = tmp_path / "work/docs/plan.txt"
    with swapping(tmp_path / "work/docs", tmp_path / ".hermes") as enough:
        while not enough():
            with suppress(ToolFailed):
                files.replace(target, b"new", tag="call-1")
    assert (tmp_path / ".hermes/plan.txt").read_bytes() == SECRET
    assert sorted(p.name for p in (tmp_path / ".hermes").iterdir()) == [
        ".env",
        "pairing",
        "plan.txt",
    ]


def test_path_01_what_is_removed_is_beneath_its_root(files: JudgedFiles, tmp_path: Path) -> None:
    target = tmp_path / "work/docs/plan.txt"
    with swapping(tmp_path / "work/docs", tmp_path / ".hermes") as enough:
        while not enough():
            with suppress(ToolFailed):
                files.remove(target)
    assert (tmp_path / ".hermes/plan.txt").read_bytes() == SECRET


def test_path_01_without_openat2_the_walk_is_our_own_and_leaks_nothing_either(
    files: JudgedFiles, tmp_path: Path
) -> None:
    read: list[bytes] = []
    with (
        swapping(tmp_path / "work/docs", tmp_path / ".hermes") as enough,
        ConfinedFolder(files.places.root, kernel=False) as root,
    ):
        while not enough():
            with suppress(OSError):
                handle, _real = root.open("docs/plan.txt", PLAIN)
                with os.fdopen(handle, "rb") as file:
                    read.append(file.read())
    assert set(read) <= {b"the plan"}


KERNELS = [False, *([True] if confined_fs.kernel_walks() else [])]


@pytest.mark.parametrize("kernel", KERNELS)
def test_path_01_links_are_followed_while_they_stay_beneath(
    files: JudgedFiles, tmp_path: Path, kernel: bool
) -> None:
    work = tmp_path / "work"
    (work / "inner").symlink_to("docs")
    (work / "up").symlink_to("docs/../docs/plan.txt")
    (work / "out").symlink_to("../.hermes/plan.txt")
    (work / "top").symlink_to(tmp_path / ".hermes" / "plan.txt")
    (work / "round").symlink_to("round")
    with ConfinedFolder(files.places.root, kernel=kernel) as root:
        for name in ("inner/plan.txt", "up", "docs/plan.txt"):
            handle, real = root.open(name, PLAIN)
            os.close(handle)
            assert real == str(work / "docs/plan.txt")
        for name in ("out", "top", "../.hermes/plan.txt", "docs/../../.hermes/plan.txt", "round"):
            with pytest.raises(OSError, match="link"):
                root.open(name, PLAIN)


@pytest.mark.skipif(not confined_fs.kernel_walks(), reason="this kernel has no openat2")
def test_path_01_the_links_of_proc_lead_nowhere(files: JudgedFiles, tmp_path: Path) -> None:
    held = os.open(tmp_path / ".hermes", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with ConfinedFolder("/") as root:
            for name in (f"proc/self/fd/{held}/plan.txt", "proc/self/root/etc/hosts"):
                with pytest.raises(OSError, match="link"):
                    root.open(name, PLAIN)
    finally:
        os.close(held)
    (tmp_path / "work/fd").symlink_to(f"/proc/self/fd/{held}")
    with pytest.raises(ToolFailed):
        files.content(tmp_path / "work/fd/plan.txt", 1_000)


def test_path_01_a_link_leads_to_nothing_graver_than_what_was_named(
    files: JudgedFiles, tmp_path: Path
) -> None:
    (tmp_path / "notes/key").symlink_to(tmp_path / ".ssh/id_rsa")
    (tmp_path / "notes/env").symlink_to("../work/docs")
    (tmp_path / "work/hooks").symlink_to(".git/hooks")
    with pytest.raises(ToolFailed, match="guarded"):
        files.content(tmp_path / "notes/key", 1_000)
    with pytest.raises(ToolFailed, match=r"leads to .*/\.git/hooks/pre-commit"):
        files.replace(tmp_path / "work/hooks/pre-commit", b"rm", tag="call-1")
    assert not (tmp_path / "work/.git/hooks/pre-commit").exists()
    assert files.content(tmp_path / "notes/env/plan.txt", 1_000) == b"the plan"


def test_path_01_nothing_is_made_on_the_way_to_a_place_that_is_refused(
    files: JudgedFiles, tmp_path: Path
) -> None:
    (tmp_path / "notes/there").symlink_to(tmp_path / ".hermes")
    for name in ("notes/there/new/deep/file", ".hermes/new/deep/file"):
        with pytest.raises(ToolFailed, match="guarded"):
            files.replace(tmp_path / name, b"x", tag="call-1")
    assert not (tmp_path / ".hermes/new").exists()


def test_path_01_a_second_name_of_a_guarded_file_is_guarded(
    files: JudgedFiles, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    for source in (".hermes/.env", ".hermes/plan.txt", ".ssh/id_rsa"):
        (work / "copy").unlink(missing_ok=True)
        (work / "copy").hardlink_to(tmp_path / source)
        with pytest.raises(ToolFailed, match="another name"):
            files.content(work / "copy", 1_000)
    (work / "twin").hardlink_to(work / "docs/plan.txt")
    assert files.content(work / "twin", 1_000) == b"the plan"


def test_path_01_a_write_to_a_second_name_leaves_the_first_alone(
    files: JudgedFiles, tmp_path: Path
) -> None:
    (tmp_path / "work/copy").hardlink_to(tmp_path / ".hermes/.env")
    files.replace(tmp_path / "work/copy", b"x", tag="call-1")
    assert (tmp_path / ".hermes/.env").read_bytes() == SECRET


def test_path_01_a_workspace_that_is_reached_by_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real/docs").mkdir(parents=True)
    (tmp_path / "work").symlink_to("real")
    linked = judged(tmp_path / "work", tmp_path / "nobody")
    linked.replace(tmp_path / "work/docs/a", b"x", tag="call-1")
    assert linked.content(tmp_path / "work/docs/a", 9) == b"x"


async def test_path_01_a_search_follows_no_link_and_shows_no_secret(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "person")
    home, work = tmp_path / "person", desk.place
    (home / ".hermes").mkdir()
    (home / ".hermes/plan.txt").write_bytes(SECRET)
    (work / ".ssh").mkdir()
    (work / ".ssh/id_rsa").write_bytes(SECRET)
    (work / ".env").write_bytes(SECRET)
    (work / "plain.txt").write_bytes(b"no secret of the house\n")
    (work / "file").symlink_to(home / ".hermes/plan.txt")
    (work / "folder").symlink_to(home / ".hermes")
    here = local(desk.terminal, work, home, home / ".hermes")
    desk.tools["search_files"] = search_tool(here)
    try:
        found = await desk.do("search_files", pattern="secret of")
        assert found.text.splitlines()[0] == "plain.txt:1:no secret of the house"
        assert SECRET.decode() not in found.text
        for path in ("file", "folder", str(home / ".hermes"), str(home / ".hermes/plan.txt")):
            with pytest.raises(ToolFailed):
                await desk.do("search_files", pattern="secret", path=path)
        at_home = await desk.do("search_files", pattern="the secret", path=str(home))
        assert SECRET.decode() not in at_home.text
        assert at_home.outcome is Outcome.OK
    finally:
        await desk.clear()


async def test_path_01_a_search_that_is_raced_shows_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "person")
    home, work = tmp_path / "person", desk.place
    (home / "elsewhere").mkdir()
    (home / "elsewhere/plan.txt").write_bytes(SECRET)
    (work / "docs").mkdir()
    (work / "docs/plan.txt").write_bytes(b"the plan")
    desk.tools["search_files"] = search_tool(local(desk.terminal, work, home))
    shown = ""
    try:
        with swapping(work / "docs", home / "elsewhere") as enough:
            while not enough():
                with suppress(ToolFailed):
                    shown += (await desk.do("search_files", pattern="the", path="docs")).text
                shown += (await desk.do("search_files", pattern="the")).text
    finally:
        await desk.clear()
    assert SECRET.decode() not in shown
