"""`terminal`: results, the working directory, limits, and calls that were lost."""

import asyncio
import time
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId
from hermes.core.messages import Outcome
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended
from hermes.terminals.records import CallFolder
from hermes.tools.output import SHOWN_BYTES
from tests.unit.tools.tool_context import Desk


def read_text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


async def test_output_and_exit_status_are_the_result(host: Desk) -> None:
    good = await host.do("terminal", command="echo out; echo err >&2")
    assert good.text == "out\nerr\n[exit status 0]"
    assert good.outcome is Outcome.OK
    bad = await host.do("terminal", command="printf 'no line end'; exit 3")
    assert bad.text == "no line end\n[exit status 3]"
    assert bad.outcome is Outcome.FAILED
    assert (await host.do("terminal", command="true")).text == "[exit status 0]"


async def test_the_working_directory_lasts_for_the_session(host: Desk) -> None:
    inner = host.place / "inner"
    moved = await host.do("terminal", command="mkdir inner && cd inner")
    assert moved.facts == {"workdir": str(inner)}
    assert f"now in {inner}" in moved.text
    stayed = await host.do("terminal", command="pwd")
    assert stayed.text.startswith(str(inner))
    assert stayed.facts == {}
    failed = await host.do("terminal", command="cd ..; false")
    assert failed.facts == {"workdir": str(host.place)}


async def test_a_workdir_argument_is_for_one_call(host: Desk) -> None:
    (host.place / "sub").mkdir()
    once = await host.do("terminal", command="pwd; cd /", workdir="sub")
    assert once.text.startswith(str(host.place / "sub"))
    assert once.facts == {}
    assert (await host.do("terminal", command="pwd")).text.startswith(f"{host.place}\n")
    with pytest.raises(ToolFailed, match="nowhere is not a directory"):
        await host.do("terminal", command="touch ran", workdir="nowhere")


async def test_a_directory_that_vanished_falls_back_to_the_root_with_a_note(host: Desk) -> None:
    await host.do("terminal", command="mkdir gone && cd gone")
    (host.place / "gone").rmdir()
    back = await host.do("terminal", command="pwd")
    assert back.text.startswith(f"{host.place}\n")
    assert "is gone; this ran in" in back.text
    assert back.facts == {"workdir": str(host.place)}
    assert "is gone" not in (await host.do("terminal", command="pwd")).text


async def test_long_output_has_a_head_a_tail_and_a_file_that_can_be_read(host: Desk) -> None:
    result = await host.do("terminal", command="seq 1 100000")
    assert len(result.text.encode()) < SHOWN_BYTES + 500
    assert result.text.startswith("1\n2\n3\n")
    assert result.text.endswith("\n99999\n100000\n[exit status 0]")
    gap = next(line for line in result.text.splitlines() if line.startswith("[…"))
    path = gap.split(" is in ")[1].removesuffix(" …]")
    whole = "".join(f"{n}\n" for n in range(1, 100_001))
    assert read_text(path) == whole
    assert f"{len(whole) - SHOWN_BYTES:,} bytes" in gap
    middle = await host.do("read_file", path=path, offset=50_000, limit=1)
    assert middle.text.startswith("50000|50000\n")


async def test_binary_output_is_not_shown(host: Desk) -> None:
    result = await host.do("terminal", command="head -c 2000 /dev/zero")
    assert result.text.startswith("[binary output: 2,000 bytes in ")


async def test_output_at_its_limit_is_said_to_be_cut(host: Desk) -> None:
    result = await host.do("terminal", command="yes")
    assert "its output reached the limit" in result.text
    assert result.outcome is Outcome.FAILED


async def test_a_timeout_says_so_and_shows_what_there_was(host: Desk) -> None:
    result = await host.do("terminal", command="echo begun; sleep 60", timeout=0.5)
    assert result.text.startswith("begun\n[timed out after ")
    assert result.outcome is Outcome.FAILED


async def test_those_who_watch_see_output_while_it_runs(host: Desk) -> None:
    await host.do("terminal", command="echo early; sleep 0.8; echo late")
    assert "early" in host.watched()
    assert "late" not in host.watched(), "the end is in the result"


async def test_what_watchers_get_at_once_is_bounded(host: Desk) -> None:
    await host.do("terminal", command="seq 1 20000; sleep 0.8")
    assert 0 < max(len(g.text) for g in host.glimpses) <= 2_000  # type: ignore[union-attr]


async def test_a_cancelled_run_goes_on_and_is_found_by_seek(host: Desk) -> None:
    arguments = {"command": "sleep 0.6; echo finished; echo once >> ran"}
    running = asyncio.create_task(host.do("terminal", call="lost-1", **arguments))
    await asyncio.sleep(0.25)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    found = await host.recover("terminal", "lost-1", **arguments)
    assert found is not None
    assert found.text == "finished\n[exit status 0]"
    assert (host.place / "ran").read_text() == "once\n"


async def test_a_stop_by_the_person_ends_the_command_and_its_waiter_hears_of_it(host: Desk) -> None:
    context = host.context("terminal", "long-1", command="echo on; sleep 60")
    tool = host.tools["terminal"]
    running = asyncio.ensure_future(tool.run(context))
    async with asyncio.timeout(30):
        while not host.glimpses:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert tool.stop is not None
    await tool.stop(context)
    result = await running
    assert result.outcome is Outcome.STOPPED
    assert result.text == "on\n[stopped; exit status 143]"


async def test_c24_seek_of_an_unknown_call_is_honest(host: Desk) -> None:
    assert await host.recover("terminal", "never-1", command="touch ran") is None
    assert not (host.place / "ran").exists()


async def test_c24_a_lost_command_with_an_effect_is_not_run_again(host: Desk) -> None:
    arguments = {"command": "echo once >> ran"}
    await host.do("terminal", call="lost-1", **arguments)
    (host.calls / "lost-1" / "status").unlink()  # killed before it could leave one
    assert await host.recover("terminal", "lost-1", **arguments) is None
    again = await host.do("terminal", call="lost-1", **arguments)
    assert again.outcome is Outcome.UNKNOWN
    assert "outcome unknown" in again.text
    assert (host.place / "ran").read_text() == "once\n"


async def test_c24_a_lost_reader_runs_again(host: Desk) -> None:
    (host.place / "file").write_text("old\n")
    await host.do("terminal", call="lost-1", command="cat file")
    (host.calls / "lost-1" / "status").unlink()
    (host.place / "file").write_text("new\n")
    again = await host.do("terminal", call="lost-1", command="cat file")
    assert again.text == "new\n[exit status 0]"


async def test_c24_a_finished_command_is_never_run_again(host: Desk) -> None:
    for _ in range(3):
        result = await host.do("terminal", call="same-1", command="echo once >> ran; cat ran")
        assert result.text == "once\n[exit status 0]"
    found = await host.recover("terminal", "same-1", command="echo once >> ran; cat ran")
    assert found is not None
    assert found.text == "once\n[exit status 0]"


async def test_a_background_command_returns_at_once_with_its_id(host: Desk) -> None:
    began = time.monotonic()
    result = await host.do("terminal", call="bg-1", command="sleep 30", background=True)
    assert time.monotonic() - began < 25
    assert result.text.startswith("[running in the background as process bg-1")
    assert result.outcome is Outcome.OK
    seen = await host.terminal.look(CallId("bg-1"))
    assert seen is not None
    assert seen.state == CommandRunning()


async def test_a_background_command_that_fails_at_once_is_reported_at_once(host: Desk) -> None:
    result = await host.do("terminal", command="no-such-program-here", background=True)
    assert "not found" in result.text
    assert "exit status 127" in result.text
    assert result.outcome is Outcome.FAILED


async def test_a_background_command_does_not_move_the_session(host: Desk) -> None:
    result = await host.do("terminal", command="cd /", background=True)
    assert result.facts == {}


async def test_a_session_has_a_limit_of_background_commands(host: Desk) -> None:
    for n in range(16):
        await host.terminal.launch(
            CommandLaunch(
                id=CallId(f"bg-{n}"),
                session=host.session,
                command="sleep 60",
                workdir="/",
                background=True,
            )
        )
    with pytest.raises(ToolFailed, match="16 background commands"):
        await host.do("terminal", command="touch ran", background=True)
    assert not (host.place / "ran").exists()


async def test_a_command_barred_from_beginning_says_that_nothing_was_run(host: Desk) -> None:
    await host.do("terminal", call="x-1", command="true")
    folder = CallFolder(host.calls, CallId("x-1"))
    for name in ("status", "begun"):
        (folder.path / name).unlink()
    folder.bar("unstarted")
    result = await host.do("terminal", call="x-1", command="true")
    assert result.outcome is Outcome.FAILED
    assert "nothing was run" in result.text
    seen = await host.terminal.look(CallId("x-1"))
    assert seen is not None
    assert seen.state == Ended(None, "unstarted")
