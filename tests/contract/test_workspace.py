"""What every workspace promises: its files and its commands are one world, and outlive us.

A backend runs this suite, and test_terminal.py, by its name in workspaces.KINDS. Nothing here
knows where the place is: files are put there and read back through the port, or by its commands.
"""

import asyncio
import errno
import os
import posixpath
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.ports.terminal import CommandRunning, Ended
from hermes.ports.workspace import FileAccess, SearchMatch
from tests.contract.workspaces import CALL, KINDS, PATIENCE_S, Place

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=list(KINDS))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    await made.clear()


async def killed_owner(place: Place, command: str, timeout_s: float) -> None:
    """Another process launches the command and is killed when it has begun."""
    program = [sys.executable, "-m", "tests.contract.workspaces", place.kind, str(place.folder)]
    owner = await asyncio.create_subprocess_exec(
        *program,
        command,
        str(timeout_s),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"CommandRunning\n"
    owner.send_signal(signal.SIGKILL)
    await owner.wait()


# ── what it says of itself ──────────────────────────────────────────────────────────────────────


def test_its_manifest_says_what_it_cannot_do(place: Place) -> None:
    manifest = place.here.manifest
    assert manifest.name == place.kind
    assert ("hibernate" in manifest.cannot) is not manifest.hibernates
    assert ("snapshot" in manifest.cannot) is not manifest.snapshots
    assert ("box" in manifest.cannot) is not manifest.boxes
    assert (manifest.lifetime_s is None) is ("live without end" not in manifest.cannot)


async def test_its_places_are_its_own_facts(place: Place) -> None:
    places = place.here.places
    assert (await place.run("pwd")).strip() == places.root
    for path in (places.root, places.home, *places.guarded):
        assert path.startswith("/")
        assert path == posixpath.normpath(path)
    real = place.here.files.real(places.root)
    assert real == (await place.run("pwd -P")).strip()


# ── both hands in one world ─────────────────────────────────────────────────────────────────────


async def test_what_one_hand_writes_the_other_reads(place: Place) -> None:
    place.put("by/file.txt", b"from the file tools\n")
    assert await place.run("cat by/file.txt") == "from the file tools\n"
    await place.run("printf 'from a command' > by/command.txt")
    assert place.content("by/command.txt") == b"from a command"


async def test_a_folder_to_which_a_command_moved_is_known_and_one_that_is_gone_is_not(
    place: Place,
) -> None:
    terminal, files = place.here.terminal, place.here.files
    await terminal.launch(place.launch("mkdir -p deep/er; cd deep/er"))
    seen = await terminal.wait(CALL, PATIENCE_S)
    assert seen.workdir == place.path("deep/er")
    status = files.status(seen.workdir, follow=True)
    assert status is not None
    assert status.kind == "folder"
    await place.run("rm -r deep")
    assert files.status(seen.workdir, follow=True) is None


# ── commands outlive whoever launched them ──────────────────────────────────────────────────────


async def test_a_command_outlives_the_kill_of_its_owner_and_is_found_by_its_call(
    place: Place,
) -> None:
    await killed_owner(place, "echo first; until [ -e go ]; do sleep 0.05; done; echo last", 600)
    terminal = place.again().terminal
    assert await terminal.strays() == (CALL,)
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.state == CommandRunning()
    again = await terminal.launch(place.launch("echo never"))
    assert again.state == CommandRunning(), "an id is begun once"
    place.put("go", b"")
    assert (await terminal.wait(CALL, PATIENCE_S)).state == Ended(0)
    assert await terminal.read(CALL, 0, 1_000) == b"first\nlast\n"
    assert await terminal.strays() == ()


async def test_a_deadline_holds_after_the_kill_of_its_owner_while_nobody_watches(
    place: Place,
) -> None:
    await killed_owner(place, "echo begun; sleep 600", 1.0)
    terminal, seen = place.again().terminal, None
    async with asyncio.timeout(PATIENCE_S):
        while seen is None or not isinstance(seen.state, Ended):
            await asyncio.sleep(0.05)
            seen = await terminal.look(CALL)
    assert seen.state.cut == "timeout"
    assert await terminal.read(CALL, 0, 100) == b"begun\n", "its output is kept"


async def test_a_stop_ends_the_whole_tree(place: Place) -> None:
    """Also what ignores a polite word, and what left its parent behind."""
    beats = "(trap '' TERM; while :; do echo x >> beats; sleep 0.05; done) & wait"
    terminal = place.here.terminal
    await terminal.launch(place.launch(f"({beats}) & echo up; wait"))
    async with asyncio.timeout(PATIENCE_S):
        while place.here.files.status(place.path("beats")) is None:  # noqa: ASYNC110 (its own)
            await asyncio.sleep(0.05)
    seen = await place.again().terminal.stop(CALL, "stopped")
    assert seen is not None
    assert isinstance(seen.state, Ended)
    assert seen.state.cut == "stopped"
    before = place.content("beats")
    await asyncio.sleep(0.3)
    assert place.content("beats") == before, "nothing of it runs on"
    assert await terminal.strays() == ()


async def test_a_sweep_leaves_what_is_fresh_and_what_runs(place: Place) -> None:
    terminal = place.here.terminal
    await terminal.launch(place.launch("sleep 600", background=True))
    await terminal.launch(place.launch("echo kept", "other"))
    await terminal.wait(place.launch("", "other").id, PATIENCE_S)
    assert await place.again().terminal.sweep() == 0
    assert await terminal.read(place.launch("", "other").id, 0, 10) == b"kept\n"
    assert (await terminal.wait(CALL, 0.05)).state == CommandRunning()


async def test_closing_ends_no_command(place: Place) -> None:
    first = place.again()
    await first.terminal.launch(place.launch("until [ -e go ]; do sleep 0.05; done; echo done"))
    await first.close()
    place.put("go", b"")
    assert (await place.here.terminal.wait(CALL, PATIENCE_S)).state == Ended(0)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_put_there_with_its_folders_and_again_in_the_same_place(place: Place) -> None:
    files, path = place.here.files, place.path("new/deep/file")
    assert files.replace(path, b"one", place.access(), tag="t") is True
    assert files.replace(path, b"two", place.access(), tag="t") is False
    assert place.content("new/deep/file") == b"two"
    assert [entry.name for entry in files.list(place.path("new/deep"), limit=9)] == ["file"]


async def test_a_reader_never_sees_half_of_a_file(place: Place) -> None:
    """Whoever reads while it is replaced has the old content or the new one, and no other."""
    one, other = b"a" * 300_000, b"b" * 300_000
    place.put("big", one)
    reads = "while [ ! -e over ]; do tr -d b < big | wc -c; done"
    terminal = place.here.terminal
    await terminal.launch(place.launch(f"{reads} | tr -d ' ' | sort -u", timeout_s=PATIENCE_S))
    for _ in range(20):
        await asyncio.to_thread(place.put, "big", other)
        await asyncio.to_thread(place.put, "big", one)
    place.put("over", b"")
    await terminal.wait(CALL, PATIENCE_S)
    seen = (await terminal.read(CALL, 0, 1_000)).decode().split()
    assert set(seen) <= {"0", "300000"}
    assert place.content("big") == one


async def test_mode_stays_and_what_is_no_regular_file_is_refused(place: Place) -> None:
    place.put("script", b"old")
    await place.run("chmod 750 script; mkdir folder; mkfifo pipe")
    place.put("script", b"new")
    assert (await place.run("ls -l script")).startswith("-rwxr-x---")
    for name in ("folder", "pipe"):
        with pytest.raises(ToolFailed, match="regular file"):
            place.put(name, b"x")
        with pytest.raises(OSError, match=r"."):
            place.content(name)


async def test_links_are_followed_while_they_stay_beneath_and_no_further(place: Place) -> None:
    place.put("docs/plan", b"the plan")
    await place.run("ln -s docs/plan inner; ln -s / out; ln -s round round; ln -s gone dangling")
    files, heard = place.here.files, list[str]()
    access = FileAccess(beneath=place.root, permit=heard.append)
    with files.open(place.path("inner"), access) as file:
        assert file.stream.read() == b"the plan"
        assert file.real == files.real(place.path("docs/plan"))
    assert heard == [files.real(place.path("docs/plan"))]
    place.put("inner", b"changed")
    assert place.content("docs/plan") == b"changed", "a link stays a link"
    for name in ("out/etc/hosts", "round", "../ours"):
        with pytest.raises(OSError, match=r".") as refused:
            files.look(place.path(name), place.access())
        assert refused.value.errno in (errno.EXDEV, errno.ELOOP), name
    assert files.stands(place.path("dangling"), place.access())
    files.remove(place.path("dangling"), place.access())
    assert not files.stands(place.path("dangling"), place.access())
    link = files.status(place.path("inner"))
    assert link is not None
    assert link.kind == "link"


async def test_who_may_refuse_a_path_hears_the_real_one_before_anything_is_done(
    place: Place,
) -> None:
    await place.run("mkdir -p secret; ln -s secret way; echo key > secret/key")

    def refuse(real: str) -> None:
        raise ToolFailed(f"not {real}")

    files, access = place.here.files, FileAccess(beneath=place.root, permit=refuse)
    real = files.real(place.path("secret"))
    with (
        pytest.raises(ToolFailed, match=f"not {real}/key"),
        files.open(place.path("way/key"), access),
    ):
        pass
    with pytest.raises(ToolFailed, match=f"not {real}/new/file"):
        files.replace(place.path("way/new/file"), b"x", access, tag="t")
    with pytest.raises(ToolFailed, match=f"not {real}/key"):
        files.remove(place.path("way/key"), access)
    with pytest.raises(ToolFailed, match=f"not {real}"):
        files.list(place.path("way"), limit=9, access=access)
    assert [entry.name for entry in files.list(place.path("secret"), limit=9)] == ["key"]


def test_binary_and_big_files_come_back_as_they_were(place: Place) -> None:
    binary = bytes(range(256)) * 4
    big = os.urandom(3_000_000)
    place.put("binary", binary)
    path = place.put("big", big)
    assert place.content("binary") == binary
    files = place.here.files
    with files.open(path, place.access()) as file:
        assert file.status.size == len(big)
        file.stream.seek(2_999_990)
        assert file.stream.read() == big[-10:]
    status, start = files.head(path, 1_000)
    assert (status.kind, status.size, start) == ("file", len(big), big[:1_000])
    with pytest.raises(FileNotFoundError):
        files.head(place.path("gone"), 10)


async def test_odd_names_are_names(place: Place) -> None:
    for name in ("a b", "quote'\"`$(x)", "-rf", "ü\u20ac", "new\nline"):
        place.put(f"odd/{name}", name.encode())
        assert place.content(f"odd/{name}") == name.encode()
    assert len(place.here.files.list(place.path("odd"), limit=99)) == 5
    assert (await place.run("ls odd | wc -l")).strip() == "6"


async def test_a_listing_names_kinds_and_has_a_limit(place: Place) -> None:
    await place.run("mkdir l; cd l; mkdir folder; echo x > file; ln -s file link; mkfifo pipe")
    files = place.here.files
    found = {entry.name: entry.kind for entry in files.list(place.path("l"), limit=99)}
    assert found == {"folder": "folder", "file": "file", "link": "link", "pipe": "other"}
    assert len(files.list(place.path("l"), limit=2)) == 2
    with pytest.raises(FileNotFoundError):
        files.list(place.path("gone"), limit=2)


async def test_a_changed_file_is_noticed_and_a_second_name_is_the_same_file(place: Place) -> None:
    path, files = place.put("watched", b"one"), place.here.files
    before = files.status(path)
    place.put("watched", b"two")
    after = files.status(path)
    assert before is not None
    assert after is not None
    assert (before.id, before.changed_ns) != (after.id, after.changed_ns)
    await place.run("touch -t 200101010000 watched")
    touched = files.status(path)
    assert touched is not None
    assert touched.modified_ns < after.modified_ns
    assert touched.changed_ns >= after.changed_ns, "a program cannot set it back"
    await place.run(
        "mkdir -p kept/skip; ln watched kept/twin; echo y > plain; ln plain kept/skip/p"
    )
    seen = files.look_at_all([path, place.path("plain"), place.path("gone")], place.access())
    assert seen[2] is None
    several = [status for status in seen if status is not None]
    assert [status.names for status in several] == [2, 2]
    assert set(files.linked(several, [place.path("kept")], "skip")) == {several[0].id}


async def test_what_a_command_changed_is_found_by_change_times(place: Place) -> None:
    place.put("old", b"old")
    files = place.here.files
    await asyncio.sleep(0.1)
    marker = files.status(place.put("marker", b""))
    assert marker is not None
    await place.run("mkdir -p sub; echo new > sub/new; touch -t 200101010000 sub/new")
    changed = files.changed_since(place.root, marker.changed_ns)
    assert place.path("sub/new") in changed.files
    assert place.path("old") not in changed.files


async def test_another_name_is_given_once(place: Place) -> None:
    files, path = place.here.files, place.put("config", b"x")
    assert files.rename(path, "config.aside") is True
    assert files.status(path) is None
    place.put("config", b"y")
    assert files.rename(path, "config.aside") is False, "that name is taken"
    assert place.content("config.aside") == b"x"
    assert files.rename(place.path("gone"), "other") is False


# ── search ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_search_finds_lines_and_names_and_leaves_out_what_is_hidden(place: Place) -> None:
    place.put("src/app.py", b"import os\nPORT = 8080\n")
    place.put("src/notes.md", b"the PORT\n")
    place.put("keys/secret", b"PORT\n")
    place.put("blob", b"PORT\x00\x01")
    await place.run("ln -s / out")
    found = await place.here.search(place.search("PORT", hidden=("secret",)))
    assert sorted(found.matches, key=lambda match: match.path) == [
        SearchMatch("./src/app.py", 2, "PORT = 8080"),
        SearchMatch("./src/notes.md", 1, "the PORT"),
    ]
    assert not found.failed
    named = await place.here.search(place.search("*.py", target="files"))
    assert [match.path for match in named.matches] == ["./src/app.py"]
    where = place.here.files.real(place.path("src"))
    inside = await place.here.search(place.search("PORT", where=where, glob="*.md"))
    assert [match.path for match in inside.matches] == [f"{where}/notes.md"]


async def test_a_search_that_fails_says_so_and_leaves_nothing_behind(place: Place) -> None:
    search = place.search("(unclosed")
    found = await place.here.search(search)
    assert found.failed
    assert found.said
    assert await place.here.terminal.look(search.id) is None
