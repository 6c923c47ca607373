"""`process`: background commands of a session, for this gateway and the next."""

import asyncio

import pytest

from hermes.core.errors import ToolFailed
from tests.unit.tools.desk import Desk


async def begin(desk: Desk, command: str, call: str = "bg-1") -> None:
    await desk.do("terminal", call=call, command=command, background=True)


async def act(desk: Desk, action: str, call: str = "bg-1", **more: object) -> str:
    return (await desk.do("process", action=action, id=call, **more)).text


async def test_list_shows_state_and_command(desk: Desk) -> None:
    assert (
        await desk.do("process", action="list")
    ).text == "No background commands in this session."
    await begin(desk, "sleep 30")
    await begin(desk, "echo hi;\n exit 2", "bg-2")
    text = (await desk.do("process", action="list")).text
    first, second = text.splitlines()
    assert first.startswith("bg-1  running for ")
    assert first.endswith("sleep 30")
    assert second == "bg-2  exit status 2  echo hi; exit 2"


async def test_they_survive_a_restart_of_the_gateway(desk: Desk) -> None:
    await begin(desk, "read line; echo got $line")
    await desk.terminal.close()
    later = Desk(desk.place.parent)
    assert "bg-1  running" in (await later.do("process", action="list")).text
    assert await act(later, "write", data="word\n") == "Wrote 5 bytes to its input."
    assert await act(later, "wait", timeout=10) == "got word\n[exit status 0]"
    await later.clear()


async def test_only_the_session_that_started_them_sees_them(desk: Desk) -> None:
    await begin(desk, "sleep 30")
    other = Desk(desk.place.parent, session="another")
    assert (await other.do("process", action="list")).text.startswith("No background")
    with pytest.raises(ToolFailed, match="no background command bg-1"):
        await act(other, "kill")
    await other.clear()


async def test_poll_shows_the_latest_output(desk: Desk) -> None:
    await begin(desk, "seq 1 5000; sleep 30")
    await asyncio.sleep(0.3)
    text = await act(desk, "poll")
    assert text.startswith("1\n2\n")
    assert "\n4999\n5000\n[running for " in text
    assert len(text) < 4_500


async def test_wait_returns_when_it_ends_or_when_the_time_is_up(desk: Desk) -> None:
    await begin(desk, "sleep 0.5; echo end; exit 7")
    assert "[running for" in await act(desk, "wait", timeout=0.1)
    assert await act(desk, "wait", timeout=10) == "end\n[exit status 7]"


async def test_log_gives_windows_of_lines(desk: Desk) -> None:
    await begin(desk, "seq 1 1000")
    await act(desk, "wait", timeout=10)
    last = await act(desk, "log", limit=3)
    assert last.startswith("998\n999\n1000\n[from line 998 of 1,000; ")
    middle = await act(desk, "log", offset=500, limit=2)
    assert middle.startswith("500\n501\n[from line 500 ")
    assert (
        await act(desk, "log", offset=2_000) == "[there are 1,000 lines so far, none from 2,000 on]"
    )


async def test_kill_ends_it_and_may_be_repeated(desk: Desk) -> None:
    await begin(desk, "sleep 60 & sleep 60")
    assert await act(desk, "kill") == "[stopped; exit status 143]"
    assert await act(desk, "kill") == "[stopped; exit status 143]"
    with pytest.raises(ToolFailed, match="not running"):
        await act(desk, "write", data="x")


async def test_an_unknown_id_is_answered_with_the_known_ones(desk: Desk) -> None:
    await begin(desk, "sleep 30")
    with pytest.raises(ToolFailed, match=r"no background command nope. Known are: bg-1"):
        await act(desk, "poll", "nope")


async def test_foreground_commands_are_not_listed(desk: Desk) -> None:
    await desk.do("terminal", call="fg-1", command="true")
    assert (await desk.do("process", action="list")).text.startswith("No background")


async def test_a_full_input_is_reported_with_what_was_taken(desk: Desk) -> None:
    await begin(desk, "sleep 30")
    await act(desk, "write", data="x" * 65_536)
    with pytest.raises(ToolFailed, match="it took 0 of 1 bytes"):
        await act(desk, "write", data="x")
