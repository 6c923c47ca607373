"""What the commands of every workspace promise, whichever place it is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Terminal
from tests.contract.workspaces import CALL, KINDS, OUTPUT_BYTES_MAX, SESSION, Place

Open = Callable[[], Awaitable[Terminal]]  # the same place again, as another process sees it
Made = Callable[..., CommandLaunch]


@pytest.fixture(params=list(KINDS))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    await made.clear()


@pytest.fixture
def reopen(place: Place) -> Open:
    async def again() -> Terminal:
        return place.again().terminal

    return again


@pytest.fixture
def terminal(place: Place) -> Terminal:
    return place.here.terminal


@pytest.fixture
def launch(place: Place) -> Made:
    return place.launch


async def test_a_command_runs_where_it_should_and_leaves_output_status_and_place(
    terminal: Terminal, launch: Made, place: Place
) -> None:
    await terminal.launch(launch("pwd; echo oops >&2; cd /; exit 5"))
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(5)
    assert seen.workdir == "/"
    assert await terminal.read(CALL, 0, 1_000) == f"{place.root}\noops\n".encode()
    assert seen.size == len(f"{place.root}\noops\n")


async def test_launching_an_id_again_never_runs_it_again(
    reopen: Open, launch: Made, place: Place
) -> None:
    first, second = await reopen(), await reopen()
    same = launch("echo once >> ran; sleep 0.2")
    await asyncio.gather(*(t.launch(same) for t in (first, second, first, second)))
    for terminal in (first, second):
        assert (await terminal.wait(CALL, 20)).state == Ended(0)
    assert (await (await reopen()).launch(same)).state == Ended(0)
    assert place.content("ran") == b"once\n"


async def test_another_process_finds_it_running_and_ended(reopen: Open, launch: Made) -> None:
    await (await reopen()).launch(launch("sleep 0.4; echo end"))
    other = await reopen()
    assert (await other.wait(CALL, 0.1)).state == CommandRunning()
    assert (await other.wait(CALL, 20)).state == Ended(0)
    assert await other.read(CALL, 0, 10) == b"end\n"


async def test_an_unknown_id_is_unknown(terminal: Terminal) -> None:
    assert await terminal.look(CALL) is None
    assert await terminal.stop(CALL, "stopped") is None
    assert await terminal.read(CALL, 0, 10) == b""
    with pytest.raises(ToolFailed):
        await terminal.wait(CALL, 0.1)
    with pytest.raises(ToolFailed):
        await terminal.look(CallId("../../etc"))
    await terminal.forget(CALL)


async def test_output_can_be_read_in_pieces(terminal: Terminal, launch: Made) -> None:
    await terminal.launch(launch("printf 0123456789"))
    await terminal.wait(CALL, 20)
    assert await terminal.read(CALL, 3, 4) == b"3456"
    assert await terminal.read(CALL, 8, 10) == b"89"
    assert await terminal.read(CALL, 50, 10) == b""


async def test_output_ends_at_its_limit_and_so_does_the_writer(
    terminal: Terminal, launch: Made
) -> None:
    await terminal.launch(launch("yes"))
    seen = await terminal.wait(CALL, 20)
    assert isinstance(seen.state, Ended)
    assert seen.full
    assert seen.size <= OUTPUT_BYTES_MAX


async def test_its_own_time_limit_ends_it_while_somebody_waits(
    terminal: Terminal, launch: Made
) -> None:
    await terminal.launch(launch("sleep 60", timeout_s=0.3))
    seen = await terminal.wait(CALL, 20)
    assert isinstance(seen.state, Ended)
    assert seen.state.cut == "timeout"


@pytest.mark.parametrize("command", ["sleep 60", "trap '' TERM; sleep 60 & sleep 60; sleep 60"])
async def test_its_own_time_limit_ends_it_when_nobody_waits(
    reopen: Open, launch: Made, command: str
) -> None:
    """Whoever began it may be gone by then; the next one finds that its time was over."""
    first, later = await reopen(), await reopen()
    await first.launch(launch(command, timeout_s=0.2))
    await first.launch(launch("sleep 60", "other", background=True))
    seen = None
    async with asyncio.timeout(30):
        while seen is None or not isinstance(seen.state, Ended):
            await asyncio.sleep(0.05)
            seen = await later.look(CALL)
    assert seen.state.cut == "timeout"
    beside = await later.look(CallId("other"))
    assert beside is not None
    assert isinstance(beside.state, CommandRunning), "what has no limit goes on"
    await later.stop(CallId("other"), "stopped")


async def test_stopping_is_final_and_may_be_repeated(reopen: Open, launch: Made) -> None:
    first, second = await reopen(), await reopen()
    await first.launch(launch("sleep 60"))
    seen = await second.stop(CALL, "stopped")
    assert seen is not None
    assert isinstance(seen.state, Ended)
    assert seen.state.cut == "stopped"
    again = await first.stop(CALL, "timeout")
    assert again is not None
    assert again.state == seen.state


async def test_background_commands_are_listed_for_their_session_and_can_be_written_to(
    reopen: Open, launch: Made
) -> None:
    first = await reopen()
    await first.launch(launch("read a; echo $a", "call-1", background=True))
    await first.launch(launch("true", "call-2"))
    await first.wait(CALL, 0.3)
    second = await reopen()
    assert [seen.launch.id for seen in await second.listed(SESSION)] == ["call-1"]
    assert await second.listed(SessionKey("another")) == ()
    assert await second.write(CALL, b"word\n") == 5
    assert (await second.wait(CALL, 20)).state == Ended(0)
    assert await second.read(CALL, 0, 10) == b"word\n"


async def test_what_is_forgotten_may_be_launched_anew_but_not_while_it_runs(
    terminal: Terminal, launch: Made, place: Place
) -> None:
    await terminal.launch(launch("echo again >> ran; sleep 0.2"))
    await terminal.wait(CALL, 0.1)
    with pytest.raises(ToolFailed, match="still running"):
        await terminal.forget(CALL)
    await terminal.wait(CALL, 20)
    await terminal.forget(CALL)
    assert await terminal.look(CALL) is None
    await terminal.launch(launch("echo again >> ran"))
    assert (await terminal.wait(CALL, 20)).state == Ended(0)
    assert place.content("ran") == b"again\nagain\n"


async def test_programs_are_found_as_a_command_would(terminal: Terminal) -> None:
    assert terminal.which("sh")
    assert terminal.which("no-such-program-here") == ""
