"""C24 in a box: a detached command lives on in it, is found again, waited for and stopped."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import Sandbox
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended
from hermes.terminals.local import LocalTerminal
from hermes.terminals.program import ENTER, LAUNCHER
from hermes.terminals.records import Begun, CallFolder
from hermes.terminals.register import CommandLimits
from tests.attacks.victim import CANARY, Victim

ROOT = Path(__file__).parents[2]
CALL = CallId("turn-1")


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def terminal(sandbox: Sandbox, victim: Victim) -> AsyncIterator[LocalTerminal]:
    calls, limits = victim.ours / "calls", CommandLimits(grace_s=0.5)
    opened = LocalTerminal(calls, environ=os.environ, limits=limits, sandbox=sandbox)
    yield opened
    await opened.stop(CALL, "stopped")
    await opened.close()


def launch(victim: Victim, command: str, **more: object) -> CommandLaunch:
    fields = {"session": SessionKey("s"), "timeout_s": 20.0, "workdir": str(victim.workspace)}
    return CommandLaunch(id=CALL, command=command, **(fields | more))  # type: ignore[arg-type]


async def ended(terminal: LocalTerminal, wanted: CommandLaunch) -> tuple[Ended, str]:
    await terminal.launch(wanted)
    seen = await terminal.wait(CALL, 20)
    assert isinstance(seen.state, Ended)
    return seen.state, (await terminal.read(CALL, 0, 100_000)).decode()


async def test_c24_a_boxed_command_leaves_its_output_status_and_directory(
    terminal: LocalTerminal, victim: Victim
) -> None:
    (victim.workspace / "below").mkdir()
    state, text = await ended(terminal, launch(victim, "cd below; echo made > it; cat it; exit 7"))
    assert (state, text) == (Ended(7), "made\n")
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.workdir == str(victim.workspace / "below")


async def test_the_facts_of_a_call_cannot_be_forged_from_inside(
    terminal: LocalTerminal, victim: Victim
) -> None:
    folder = victim.ours / "calls" / CALL
    command = (
        f"cd {folder}; for f in begun status meta cut output; do echo 0 > {folder}/$f; done; "
        f"rm -f {folder}/begun {folder}/workdir; ln -s /etc/passwd {folder}/workdir; exit 5"
    )
    state, _ = await ended(terminal, launch(victim, command))
    assert state == Ended(5)
    assert not (folder / "workdir").is_symlink()


async def test_a_boxed_command_is_asked_to_end_before_it_is_made_to(
    kind: str, terminal: LocalTerminal, victim: Victim
) -> None:
    command = "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.05; done"
    await terminal.launch(launch(victim, command))
    for _ in range(500):
        if b"up" in await terminal.read(CALL, 0, 10):
            break
        await asyncio.sleep(0.02)
    seen = await terminal.stop(CALL, "stopped")
    assert seen is not None
    if kind == "bubblewrap":  # it hears the same signal and may take the box down first
        assert seen.state in (Ended(9, "stopped"), Ended(143, "stopped"))
    else:
        assert seen.state == Ended(9, "stopped")
        assert (await terminal.read(CALL, 0, 100)).endswith(b"bye\n")


async def test_a_boxed_command_that_hides_from_signals_is_killed_with_its_box(
    terminal: LocalTerminal, victim: Victim
) -> None:
    mark = f"hidden{os.getpid()}"
    hidden = f"setsid bash -c 'trap : TERM HUP; while :; do sleep 0.1; done; : {mark}'"
    await terminal.launch(launch(victim, f"trap '' TERM; {hidden} & wait; wait", timeout_s=0.4))
    seen = await terminal.wait(CALL, 20)
    assert isinstance(seen.state, Ended)
    assert seen.state.cut == "timeout"
    for _ in range(100):
        if not still(mark):
            break
        await asyncio.sleep(0.02)
    assert not still(mark)


async def test_c24_a_boxed_background_command_can_be_written_to(
    terminal: LocalTerminal, victim: Victim
) -> None:
    await terminal.launch(launch(victim, "read x; echo got $x", background=True, timeout_s=None))
    assert await terminal.write(CALL, b"word\n") == 5
    seen = await terminal.wait(CALL, 10)
    assert seen.state == Ended(0)
    assert await terminal.read(CALL, 0, 100) == b"got word\n"


@pytest.mark.parametrize("then", ["wait", "stop"])
async def test_c24_a_boxed_command_outlives_its_gateway(
    kind: str, terminal: LocalTerminal, victim: Victim, then: str
) -> None:
    command = "sleep 0.8; echo built; exit 4" if then == "wait" else "echo up; sleep 60"
    program = [sys.executable, "-m", "tests.attacks.gateway", kind, str(victim.home), command]
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    with subprocess.Popen(program, env=env, cwd=ROOT) as gateway:  # noqa: ASYNC220
        folder = CallFolder(victim.ours / "calls", CALL)
        for _ in range(500):
            if folder.gate() is not None:
                break
            await asyncio.sleep(0.02)
        gateway.send_signal(signal.SIGKILL)
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.state == CommandRunning()
    if then == "wait":
        assert (await terminal.wait(CALL, 20)).state == Ended(4)
        assert await terminal.read(CALL, 0, 100) == b"built\n"
    else:
        stopped = await terminal.stop(CALL, "stopped")
        assert stopped is not None
        assert stopped.state == Ended(143, "stopped")


def still(mark: str) -> bool:
    for place in Path("/proc").iterdir():
        try:
            line = (place / "cmdline").read_bytes() if place.name.isdigit() else b""
        except OSError:
            continue
        if mark.encode() in line:
            return True
    return False


@pytest.mark.parametrize("kind", ["landlock"])
async def test_sbx_07_a_box_is_entered_without_starting_an_interpreter(
    terminal: LocalTerminal, victim: Victim
) -> None:
    """The first process of the box is a fork of the launcher, so its words are the launcher's."""
    _, text = await ended(terminal, launch(victim, "tr '\\0' '\\n' </proc/1/cmdline"))
    assert tuple(text.splitlines()[: len(LAUNCHER)]) == LAUNCHER
    assert ENTER[6] not in text


@pytest.mark.parametrize("kind", ["landlock", "landlock-plain"])
async def test_sbx_04_a_command_reads_nothing_of_the_launcher_that_others_left_there(
    terminal: LocalTerminal, victim: Victim
) -> None:
    """The processes around it are forks of one that has seen the commands of everybody."""
    before = replace(launch(victim, f"echo {CANARY}"), id=CallId("before"))
    await terminal.launch(before)
    await terminal.wait(before.id, 20)
    files = "/proc/[0-9]*/{maps,mem,environ}"
    look = f'for f in {files}; do [ -n "$(head -c 64 $f | tr -d "\\0")" ] && echo $f; done; echo $$'
    _, text = await ended(terminal, launch(victim, look))
    readable = {line.split("/")[2] for line in text.splitlines() if line.startswith("/proc/")}
    shell = text.split()[-1]
    assert readable == {shell}, "of all processes, itself alone"


async def test_a_launch_can_cover_private_files_and_forbid_changes(
    terminal: LocalTerminal, victim: Victim
) -> None:
    (victim.workspace / ".env").write_text(CANARY)
    private = (str(victim.workspace / ".env"),)
    wanted = launch(victim, "cat .env README.md; touch new", profile="read", covered=private)
    state, text = await ended(terminal, wanted)
    assert state == Ended(1)
    assert "# Read me\n" in text
    assert CANARY not in text
    assert not (victim.workspace / "new").exists()


async def test_sbx_04_a_command_has_no_file_open_but_its_own(
    terminal: LocalTerminal, victim: Victim
) -> None:
    _, text = await ended(
        terminal, launch(victim, "for f in /proc/$$/fd/*; do [ -e $f ] && echo $f; done")
    )
    shown = {place.rpartition("/")[2] for place in text.split()}
    assert shown <= {"0", "1", "2", "255"}, "bash keeps 255 for itself"


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize("kind", ["landlock"])
async def test_sec_03_the_launcher_knows_nothing_that_a_box_could_leak(
    terminal: LocalTerminal, victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", CANARY)
    await terminal.launch(launch(victim, "sleep 20"))
    gate = CallFolder(victim.ours / "calls", CALL).gate()
    assert isinstance(gate, Begun)
    environment = environment_of(gate.pid)
    assert environment.split(b"=")[0] == b"PATH"
    assert environment.count(b"\0") == 1
