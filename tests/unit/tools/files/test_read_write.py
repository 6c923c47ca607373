"""`read_file` and `write_file`: windows, refusals, and writes that happen whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.ports.workspace import WorkspacePaths
from hermes.terminals.local_files import LocalFiles
from hermes.tools.files.opening import JudgedFiles
from hermes.tools.files.paths import resolved, workdir_of
from tests.unit.tools.tool_context import Desk


async def read(host: Desk, path: str, **more: object) -> str:
    return (await host.do("read_file", path=path, **more)).text


async def write(host: Desk, path: str, content: str) -> str:
    return (await host.do("write_file", path=path, content=content)).text


async def test_a_whole_small_file_is_numbered_lines_and_nothing_else(host: Desk) -> None:
    (host.place / "a.txt").write_text("one\n\ttwo\n\nfour")
    assert await read(host, "a.txt") == "1|one\n2|\ttwo\n3|\n4|four"


async def test_a_window_says_where_it_is_and_how_to_go_on(host: Desk) -> None:
    (host.place / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1_001)))
    assert await read(host, "long.txt", offset=10, limit=2) == (
        "10|line 10\n11|line 11\n[lines 10-11 of 1,000; continue with offset=12]"
    )
    first = await read(host, "long.txt")
    assert first.endswith("500|line 500\n[lines 1-500 of 1,000; continue with offset=501]")
    last = await read(host, "long.txt", offset=999)
    assert last == "999|line 999\n1000|line 1000\n[lines 999-1000 of 1,000]"
    with pytest.raises(ToolFailed, match="has 1,000 lines"):
        await read(host, "long.txt", offset=1_001)


async def test_an_empty_file_is_said_to_be_empty(host: Desk) -> None:
    (host.place / "none").touch()
    assert await read(host, "none") == "[the file is empty]"


async def test_a_window_is_bounded_in_bytes_and_each_line_too(host: Desk) -> None:
    (host.place / "wide").write_text("x" * 5_000_000 + "\n" + "y" * 100 + "\n")
    text = await read(host, "wide")
    assert text.startswith("1|" + "x" * 2_000 + "… [4,998,001 more bytes]\n2|yyy")
    (host.place / "many").write_text(("z" * 1_000 + "\n") * 1_000)
    text = await read(host, "many", limit=2_000)
    assert len(text) < 45_000
    assert "continue with offset=" in text


async def test_dos_line_ends_and_a_byte_order_mark_are_not_shown(host: Desk) -> None:
    (host.place / "dos").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert await read(host, "dos") == "1|a\n2|b"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\x00\x01\x02", "binary file"),
        (b"\xff\xfeh\x00i\x00", "UTF-16"),
        (b"%PDF-1.7", "PDF"),
    ],
)
async def test_what_is_no_text_is_refused_with_its_kind(
    host: Desk, content: bytes, said: str
) -> None:
    (host.place / "thing").write_bytes(content)
    with pytest.raises(ToolFailed, match=said):
        await read(host, "thing")


async def test_a_missing_file_is_answered_with_names_like_it(host: Desk) -> None:
    (host.place / "README.md").touch()
    with pytest.raises(ToolFailed, match=r"does not exist\. Did you mean .*README\.md\?"):
        await read(host, "readme.txt")
    with pytest.raises(ToolFailed, match="Nor does the directory"):
        await read(host, "no/such/thing")


async def test_directories_pipes_and_devices_are_refused_without_waiting(host: Desk) -> None:
    os.mkfifo(host.place / "pipe")
    with pytest.raises(ToolFailed, match="not a regular file"):
        await read(host, "pipe")
    with pytest.raises(ToolFailed, match="is a directory"):
        await read(host, ".")
    with pytest.raises(ToolFailed, match="guarded"):
        await read(host, "/dev/zero")
    with pytest.raises(ToolFailed, match="NUL"):
        await read(host, "a\x00b")
    with pytest.raises(ToolFailed, match="too long"):
        await read(host, "x" * 300)


async def test_paths_follow_the_session_and_the_tilde(host: Desk) -> None:
    await host.do("terminal", command="mkdir sub && cd sub")
    await write(host, "here.txt", "in sub")
    assert (host.place / "sub" / "here.txt").read_text() == "in sub"
    await write(host, "~/home.txt", "at home")
    assert (host.place.parent / "home.txt").read_text() == "at home"
    assert await read(host, "../sub/here.txt") == "1|in sub"


def test_a_remembered_directory_that_is_gone_is_not_used() -> None:
    places = WorkspacePaths(root="/", home="/h")
    assert workdir_of(LocalFiles(), places, {"workdir": "/no/such"})[0] == "/"
    assert resolved(LocalFiles(), places, {"workdir": "/no/such"}, "x") == "/x"
    assert resolved(LocalFiles(), places, {}, "~") == "/h"


async def test_writing_makes_directories_and_says_what_it_did(host: Desk) -> None:
    said = await write(host, "new/deep/file.txt", "a\nb\n")
    assert said == f"Created {host.place}/new/deep/file.txt: 2 lines, 4 bytes."
    said = await write(host, "new/deep/file.txt", "")
    assert said == f"Replaced {host.place}/new/deep/file.txt: 0 lines, 0 bytes."
    assert [p.name for p in (host.place / "new/deep").iterdir()] == ["file.txt"]


async def test_mode_and_link_stay(host: Desk) -> None:
    script = host.place / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    (host.place / "link.sh").symlink_to("run.sh")
    await write(host, "link.sh", "new")
    assert (host.place / "link.sh").is_symlink()
    assert script.read_text() == "new"
    assert script.stat().st_mode & 0o777 == 0o750
    (host.place / "dangling").symlink_to("later.txt")
    await write(host, "dangling", "made")
    assert (host.place / "later.txt").read_text() == "made"


async def test_what_is_no_file_is_not_replaced(host: Desk) -> None:
    (host.place / "dir").mkdir()
    with pytest.raises(ToolFailed, match="not a regular file"):
        await write(host, "dir", "x")
    (host.place / "file").write_text("x")
    with pytest.raises(ToolFailed, match="a part of the path is a file"):
        await write(host, "file/below", "x")


KILLED = """
import os, signal, sys
from pathlib import Path
count = 0
def audit(event, arguments):
    global count
    if event in ("open", "os.rename", "os.remove") and "target" in str(arguments) + "hermes-new":
        count += 1
        if count == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
from hermes.ports.workspace import FileAccess
from hermes.terminals.local_files import LocalFiles
target = Path(sys.argv[1])
access = FileAccess(beneath=str(target.parent), permit=lambda _real: None)
sys.addaudithook(audit)
LocalFiles().replace(str(target), b"new" * 100_000, access, tag="call-1")
"""


def test_a_write_killed_anywhere_leaves_the_old_or_the_new_and_a_repeat_tidies_up(
    tmp_path: Path,
) -> None:
    places, seen = WorkspacePaths(root=str(tmp_path), home="/nowhere"), set()
    files = JudgedFiles(LocalFiles(), places)
    for at in range(1, 20):
        target = tmp_path / f"target-{at}"
        target.write_bytes(b"old")
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "src")}
        command = [sys.executable, "-c", KILLED, str(target), str(at)]
        code = subprocess.run(command, env=env, check=False).returncode
        content = target.read_bytes()
        assert content in (b"old", b"new" * 100_000)
        seen.add(content[:3])
        files.replace(target, b"new" * 100_000, tag="call-1")
        assert target.read_bytes() == b"new" * 100_000
        if code == 0:
            break
    assert code == 0
    assert seen == {b"old", b"new"}
    assert all(p.name.startswith("target") for p in tmp_path.iterdir()), "no litter"


async def test_a_write_tells_people_what_it_changed_and_the_model_only_that_it_did(
    host: Desk,
) -> None:
    (host.place / "a.txt").write_text("one\ntwo\n")
    result = await host.do("write_file", path="a.txt", content="one\n2\n")
    assert result.diff.startswith("+1 -1\n--- ")
    assert result.diff.endswith(" one\n-two\n+2")
    assert "two" not in result.text
    assert (await host.do("write_file", path="a.txt", content="one\n2\n")).diff == ""
