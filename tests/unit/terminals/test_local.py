"""Commands on this machine: limits, signals, input, and that nothing is left behind."""

import asyncio
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import hermes.terminals
from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId
from hermes.ports.sandbox import Box, BoxRequest, Guard
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Pending
from hermes.terminals.alive import LinuxProcesses
from hermes.terminals.local import LocalTerminal
from hermes.terminals.records import Begun, CallFolder, folders
from hermes.terminals.register import CommandLimits
from hermes.terminals.sandbox.choice import Refusing
from tests.unit.terminals.launchers import slow_launcher

CALL = CallId("turn-1")
Made = Callable[..., CommandLaunch]


async def ended(terminal: LocalTerminal, launch: CommandLaunch) -> tuple[Ended, str]:
    await terminal.launch(launch)
    seen = await terminal.wait(launch.id, 20)
    assert isinstance(seen.state, Ended)
    return seen.state, (await terminal.read(launch.id, 0, 100_000)).decode()


def listing(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def groups_of(leader: int) -> set[int]:
    return LinuxProcesses().groups(leader)


def pid_of(calls: Path, call: CallId = CALL) -> int:
    gate = CallFolder(calls, call).gate()
    assert isinstance(gate, Begun)
    return gate.pid


async def test_the_environment_of_a_command_has_no_secret(calls: Path, launch: Made) -> None:
    terminal = LocalTerminal(calls, environ={**os.environ, "SOME_API_KEY": "canary"})
    state, text = await ended(terminal, launch("env; cat /proc/self/environ"))
    assert state == Ended(0)
    assert "canary" not in text
    assert "TERM=dumb" in text
    await terminal.close()


async def test_an_endless_writer_is_stopped_at_the_limit(
    terminal: LocalTerminal, launch: Made
) -> None:
    began = time.monotonic()
    await terminal.launch(launch("yes"))
    seen = await terminal.wait(CALL, 20)
    assert seen.full
    assert seen.size == 1024 * 1024
    assert seen.state == Ended(141)
    assert time.monotonic() - began < 10


async def test_the_limit_is_for_output_alone(
    terminal: LocalTerminal, launch: Made, tmp_path: Path
) -> None:
    state, _ = await ended(terminal, launch("head -c 3000000 /dev/zero > big"))
    assert state == Ended(0)
    assert (tmp_path / "big").stat().st_size == 3_000_000


async def test_files_that_a_command_makes_have_the_usual_mode(
    terminal: LocalTerminal, launch: Made, tmp_path: Path
) -> None:
    mask = os.umask(0o022)
    try:
        await ended(terminal, launch("touch made"))
    finally:
        os.umask(mask)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644


async def test_a_child_that_stays_does_not_hold_up_the_result(
    terminal: LocalTerminal, launch: Made
) -> None:
    began = time.monotonic()
    state, text = await ended(terminal, launch("setsid sleep 20 & echo done"))
    assert (state, text) == (Ended(0), "done\n")
    assert time.monotonic() - began < 15


async def test_a_timeout_ends_the_whole_group(
    terminal: LocalTerminal, launch: Made, calls: Path
) -> None:
    await terminal.launch(launch("echo before; sleep 60 & sleep 60", timeout_s=0.3))
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(143, "timeout")
    assert await terminal.read(CALL, 0, 100) == b"before\n"
    assert groups_of(pid_of(calls)) == set()


async def test_one_that_ignores_the_polite_end_is_killed(
    terminal: LocalTerminal, launch: Made, calls: Path
) -> None:
    await terminal.launch(launch("trap '' TERM; while :; do sleep 1; done", timeout_s=0.2))
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(None, "timeout")
    assert groups_of(pid_of(calls)) == set()


async def test_what_a_command_says_while_it_is_ended_is_kept(
    terminal: LocalTerminal, launch: Made
) -> None:
    tidies = "trap 'echo tidied; exit 9' TERM; echo set; while :; do sleep 0.05; done"
    await terminal.launch(launch(tidies))
    async with asyncio.timeout(30):
        while not await terminal.read(CALL, 0, 100):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    seen = await terminal.stop(CALL, "stopped")
    assert seen is not None
    assert seen.state == Ended(9, "stopped")
    assert b"tidied" in await terminal.read(CALL, 0, 100)


async def test_cancelling_the_wait_leaves_the_command_alone(
    terminal: LocalTerminal, launch: Made
) -> None:
    await terminal.launch(launch("sleep 0.4; echo done"))
    waiting = asyncio.create_task(terminal.wait(CALL, 20))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(0)
    assert await terminal.read(CALL, 0, 100) == b"done\n"


async def test_a_stop_that_was_interrupted_is_finished_by_the_next_one_who_waits(
    terminal: LocalTerminal, launch: Made, calls: Path
) -> None:
    await terminal.launch(launch("sleep 60"))
    await terminal.wait(CALL, 0.2)
    CallFolder(calls, CALL).note_cut("stopped")  # and then the process that noted it died
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(143, "stopped")


async def test_a_launch_that_is_cancelled_and_then_stopped_has_no_effect(
    terminal: LocalTerminal, launch: Made, tmp_path: Path
) -> None:
    for step in range(12):
        call = f"step-{step}"
        launching = asyncio.create_task(terminal.launch(launch(f"sleep 0.3; touch {call}", call)))
        await asyncio.sleep(step / 2_000)
        launching.cancel()
        await asyncio.gather(launching, return_exceptions=True)
        seen = await terminal.stop(CallId(call), "stopped")
        assert seen is None or isinstance(seen.state, Ended)
    await asyncio.sleep(0.5)
    assert [path.name for path in listing(tmp_path) if path.name.startswith("step")] == []


async def test_stopped_before_it_began_it_never_begins(
    calls: Path, launch: Made, tmp_path: Path
) -> None:
    terminal = LocalTerminal(calls, environ=os.environ, launcher=slow_launcher(0.4))
    launching = asyncio.create_task(terminal.launch(launch("echo ran > ran")))
    await asyncio.sleep(0.2)
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.state == Pending()
    seen = await terminal.stop(CALL, "stopped")
    assert seen is not None
    assert seen.state == Ended(None, "stopped")
    assert (await launching).state == Ended(None, "stopped")
    await asyncio.sleep(0.6)
    assert not (tmp_path / "ran").exists()
    await terminal.close()


async def test_a_command_that_cannot_be_started_says_so(
    terminal: LocalTerminal, launch: Made
) -> None:
    with pytest.raises(ToolFailed, match="could not be started"):
        await terminal.launch(launch("true", workdir="/no/such/place"))
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.state == Ended(None, "unstarted")


async def test_the_working_directory_at_the_end_is_known(
    terminal: LocalTerminal, launch: Made
) -> None:
    await terminal.launch(launch("mkdir -p 'a b/ü'; cd 'a b/ü'; false"))
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(1)
    assert seen.workdir.endswith("a b/ü")


async def test_a_background_command_reads_what_is_written_to_it(
    terminal: LocalTerminal, launch: Made
) -> None:
    await terminal.launch(
        launch("read a; echo got $a; read b; echo got $b", background=True, timeout_s=None)
    )
    await terminal.wait(CALL, 0.3)
    assert await terminal.write(CALL, b"one\n") == 4
    await asyncio.sleep(0.1)
    await terminal.write(CALL, b"two\n")
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(0)
    assert await terminal.read(CALL, 0, 100) == b"got one\ngot two\n"
    with pytest.raises(ToolFailed, match="not running"):
        await terminal.write(CALL, b"three\n")


async def test_a_full_input_takes_no_more_and_nobody_hangs(
    terminal: LocalTerminal, launch: Made
) -> None:
    await terminal.launch(launch("sleep 30", background=True, timeout_s=None))
    await terminal.wait(CALL, 0.2)
    assert await terminal.write(CALL, b"x" * 65_536) == 65_536
    assert await terminal.write(CALL, b"x") == 0
    with pytest.raises(ToolFailed, match="At most"):
        await terminal.write(CALL, b"x" * 65_537)


async def test_a_foreground_command_has_no_input(terminal: LocalTerminal, launch: Made) -> None:
    state, text = await ended(terminal, launch("cat; echo end; tty"))
    assert text == "end\nnot a tty\n"
    assert state.code == 1
    with pytest.raises(ToolFailed, match="background"):
        await terminal.write(CALL, b"x")


async def test_waiting_for_many_needs_no_thread_each_and_leaves_nothing_open(
    terminal: LocalTerminal, launch: Made
) -> None:
    await ended(terminal, launch("true", call="warm"))
    open_before, threads_before = open_files(), threading.active_count()
    names = [f"many-{n}" for n in range(24)]
    for name in names:
        await terminal.launch(launch("sleep 0.6", call=name))
    waits = [asyncio.create_task(terminal.wait(CallId(name), 20)) for name in names]
    await asyncio.sleep(0.3)
    assert threading.active_count() <= threads_before + min(32, (os.cpu_count() or 1) + 4)
    seen = await asyncio.gather(*waits)
    assert {s.state for s in seen} == {Ended(0)}
    assert open_files() == open_before


async def test_a_child_nobody_waits_for_is_no_zombie(
    terminal: LocalTerminal, launch: Made, calls: Path
) -> None:
    await terminal.launch(launch("true", background=True, timeout_s=None))
    for _ in range(100):
        await asyncio.sleep(0.02)
        seen = await terminal.look(CALL)
        if seen is not None and isinstance(seen.state, Ended):
            break
    await asyncio.sleep(0.05)
    assert not exists(pid_of(calls))


async def test_without_bash_the_plain_shell_does(tmp_path: Path, launch: Made) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "cat", "mv", "sync"):
        (programs / name).symlink_to(shutil.which(name) or name)
    terminal = LocalTerminal(tmp_path / "calls", environ={"PATH": str(programs)})
    state, text = await ended(terminal, launch("cd /; echo in $PWD; exit 3"))
    assert (state, text) == (Ended(3), "in /\n")
    assert (await terminal.wait(CALL, 1)).workdir == "/"
    await terminal.close()


async def test_a_home_with_an_odd_name_is_as_good_as_any(tmp_path: Path, launch: Made) -> None:
    odd = tmp_path / 'it\'s "a" $HOME\n`x`'
    odd.mkdir()
    terminal = LocalTerminal(odd / "calls", environ=os.environ)
    state, text = await ended(terminal, launch("pwd", workdir=str(odd)))
    assert (state, text) == (Ended(0), f"{odd}\n")
    assert (await terminal.wait(CALL, 1)).workdir == str(odd)
    await terminal.close()


class Pretend:
    """A box that only leaves a mark; counts what is put into it."""

    def __init__(self) -> None:
        self.wishes: list[BoxRequest] = []

    def box(self, wish: BoxRequest, /) -> Box:
        self.wishes.append(wish)
        environment = {"PATH": os.environ["PATH"]}
        return Box(arguments=("env", "BOXED=yes"), environment=environment, limits="ulimit -n 99")

    def keeps(self, folder: str, _workspace: str, /) -> bool:
        return not folder.startswith("/proc")

    def probe(self) -> tuple[Guard, ...]:
        return ()


async def test_sbx_01_every_command_is_put_into_a_box(calls: Path, launch: Made) -> None:
    sandbox = Pretend()
    terminal = LocalTerminal(calls, environ=os.environ, sandbox=sandbox)
    for number in range(5):
        _, text = await ended(terminal, launch("echo $BOXED $(ulimit -n)", call=f"turn-{number}"))
        assert text == "yes 99\n"
    assert [wish.call for wish in sandbox.wishes] == [f"turn-{number}" for number in range(5)]
    assert sandbox.wishes[0].note == str(calls / "turn-0" / "workdir")
    assert sandbox.wishes[0].profile == "write"
    await terminal.close()


async def test_sbx_06_without_a_box_nothing_runs(calls: Path, launch: Made, tmp_path: Path) -> None:
    terminal = LocalTerminal(calls, environ=os.environ, sandbox=Refusing(["none is installed"]))
    with pytest.raises(ToolFailed, match="Sandbox unavailable"):
        await terminal.launch(launch("touch ran"))
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.state == Ended(None, "unstarted")
    assert not (tmp_path / "ran").exists()
    await terminal.close()


async def test_sweeping_leaves_a_running_command(
    terminal: LocalTerminal, launch: Made, calls: Path
) -> None:
    await terminal.launch(launch("sleep 30"))
    await terminal.wait(CALL, 0.2)
    await ended(terminal, launch("true", call="over"))
    for name in (CALL, "over"):
        os.utime(calls / name, (1, 1))
    assert await terminal.sweep() == 1
    assert [folder.path.name for folder in folders(calls)] == [CALL]


async def test_without_pidfd_waiting_asks_again_and_again(calls: Path, launch: Made) -> None:
    terminal = LocalTerminal(calls, environ=os.environ, pidfds=lambda _pid: None)
    state, text = await ended(terminal, launch("sleep 0.1; echo done"))
    assert (state, text) == (Ended(0), "done\n")
    await ended(terminal, launch("true", call="next"))
    assert not exists(pid_of(calls)), "no zombie either"
    await terminal.close()


async def test_a_short_wait_returns_what_is_seen(terminal: LocalTerminal, launch: Made) -> None:
    await terminal.launch(launch("sleep 40"))
    seen = await terminal.wait(CALL, 0.2)
    assert seen.state == CommandRunning()
    assert 0 < seen.took_s < 30


def test_default_limits_are_those_that_the_documentation_gives() -> None:
    assert CommandLimits() == CommandLimits(
        output_bytes=52_428_800, grace_s=2.0, drain_s=0.5, keep_s=604_800, keep_bytes=2_147_483_648
    )


def test_no_other_module_of_tools_and_terminals_starts_a_process() -> None:
    package = Path(hermes.terminals.__file__).parents[1]
    starts = re.compile(r"\b(subprocess|pty)\b|\bos\.(exec|spawn|posix_spawn|system|popen|fork)")
    files = sorted([*package.glob("tools/*.py"), *package.glob("terminals/**/*.py")])
    assert [f.name for f in files if starts.search(f.read_text("utf-8"))] == [
        "enter.py",
        "idmap.py",
        "kernel.py",
        "links.py",
        "spawn.py",
        "wrapper.py",
    ]
