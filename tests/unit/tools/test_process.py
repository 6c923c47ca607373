"""`process`: background commands of a session, for this gateway and the next."""

import asyncio

import pytest

from hermes.core.errors import ToolFailed
from tests.unit.tools.tool_context import Desk


async def begin(host: Desk, command: str, call: str = "bg-1") -> None:
    await host.do("terminal", call=call, command=command, background=True)


async def act(host: Desk, action: str, call: str = "bg-1", **more: object) -> str:
    return (await host.do("process", action=action, id=call, **more)).text


async def test_list_shows_state_and_command(host: Desk) -> None:
    assert (
        await host.do("process", action="list")
    ).text == "No background commands in this session."
    await begin(host, "sleep 30")
    await begin(host, "echo hi;\n exit 2", "bg-2")
    await act(host, "wait", "bg-2", timeout=30)
    text = (await host.do("process", action="list")).text
    first, second = text.splitlines()
    assert first.startswith("bg-1  running for ")
    assert first.endswith("sleep 30")
    assert second == "bg-2  exit status 2  echo hi; exit 2"


async def test_they_survive_a_restart_of_the_gateway(host: Desk) -> None:
    await begin(host, "read line; echo got $line")
    await host.terminal.close()
    later = Desk(host.place.parent)
    assert "bg-1  running" in (await later.do("process", action="list")).text
    assert await act(later, "write", data="word\n") == "Wrote 5 bytes to its input."
    assert await act(later, "wait", timeout=10) == "got word\n[exit status 0]"
    await later.clear()


async def test_only_the_session_that_started_them_sees_them(host: Desk) -> None:
    await begin(host, "sleep 30")
    other = Desk(host.place.parent, session="another")
    assert (await other.do("process", action="list")).text.startswith("No background")
    with pytest.raises(ToolFailed, match="no background command bg-1"):
        await act(other, "kill")
    await other.clear()


async def test_poll_shows_the_latest_output(host: Desk) -> None:
    await begin(host, "seq 1 5000; sleep 30")
    async with asyncio.timeout(30):
        while "\n5000\n" not in (text := await act(host, "poll")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert text.startswith("1\n2\n")
    assert "\n4999\n5000\n[running for " in text
    assert len(text) < 4_500


async def test_wait_returns_when_it_ends_or_when_the_time_is_up(host: Desk) -> None:
    await begin(host, "sleep 0.5; echo end; exit 7")
    assert "[running for" in await act(host, "wait", timeout=0.1)
    assert await act(host, "wait", timeout=10) == "end\n[exit status 7]"


async def test_log_gives_windows_of_lines(host: Desk) -> None:
    await begin(host, "seq 1 1000")
    await act(host, "wait", timeout=10)
    last = await act(host, "log", limit=3)
    assert last.startswith("998\n999\n1000\n[from line 998 of 1,000; ")
    middle = await act(host, "log", offset=500, limit=2)
    assert middle.startswith("500\n501\n[from line 500 ")
    assert (
        await act(host, "log", offset=2_000) == "[there is no line 2,000 yet: 1,000 lines so far]"
    )


async def test_kill_ends_it_and_may_be_repeated(host: Desk) -> None:
    await begin(host, "sleep 60 & sleep 60")
    assert await act(host, "kill") == "[stopped; exit status 143]"
    assert await act(host, "kill") == "[stopped; exit status 143]"
    with pytest.raises(ToolFailed, match="not running"):
        await act(host, "write", data="x")


async def test_an_unknown_id_is_answered_with_the_known_ones(host: Desk) -> None:
    await begin(host, "sleep 30")
    with pytest.raises(ToolFailed, match=r"no background command nope. The ids are: bg-1"):
        await act(host, "poll", "nope")


async def test_foreground_commands_are_not_listed(host: Desk) -> None:
    await host.do("terminal", call="fg-1", command="true")
    assert (await host.do("process", action="list")).text.startswith("No background")


async def test_a_full_input_is_reported_with_what_was_taken(host: Desk) -> None:
    await begin(host, "sleep 30")
    await act(host, "write", data="x" * 65_536)
    with pytest.raises(ToolFailed, match="it took 0 of 1 bytes"):
        await act(host, "write", data="x")
