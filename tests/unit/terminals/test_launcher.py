"""The launcher that commands begin in: it may die, be idle or be told nonsense."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.terminals.local import LocalTerminal
from hermes.terminals.orders import BEGUN, TAKEN, SpawnOrder, read_order
from hermes.terminals.program import ENTER, LAUNCHER, ROOT
from hermes.terminals.spawn import Launcher
from tests.unit.terminals.launchers import slow_launcher

Made = Callable[..., CommandLaunch]
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
CALL = CallId("turn-1")
UNIFIED = next(
    (place for place in map(Path, CGROUPS) if (place / "cgroup.controllers").exists()),
    Path("/none"),
)


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    made = Launcher()
    yield made
    made.close()


def order(folder: Path, *arguments: str) -> SpawnOrder:
    folder.mkdir(exist_ok=True)
    return SpawnOrder(
        folder=str(folder),
        workdir=str(folder),
        output_bytes=1_000,
        stdin=False,
        groups=(),
        environment={"PATH": os.environ["PATH"]},
        arguments=arguments or ("true",),
    )


def launchers() -> set[int]:
    """The pids of those that this process started."""
    said = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    return {int(line.split()[0]) for line in said if LAUNCHER[6] in line}


def test_an_order_is_read_as_it_was_written(tmp_path: Path) -> None:
    odd = "\udcff ü = \n"
    whole = order(tmp_path, "sh", "", odd)._replace(
        groups=("/a b", "/c"), environment={"A": odd, "B": ""}, stdin=True
    )
    read = read_order(whole.text())
    assert read == whole._replace(groups=list(whole.groups), arguments=list(whole.arguments))


def test_a_null_byte_is_refused_before_anything_begins(launcher: Launcher, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="null byte"):
        launcher.begin(order(tmp_path / "one", "echo", "a\0b"))
    assert not (tmp_path / "one/begun").exists()


def test_what_was_begun_is_not_begun_again(launcher: Launcher, tmp_path: Path) -> None:
    assert launcher.begin(order(tmp_path / "one")) == BEGUN
    assert launcher.begin(order(tmp_path / "one")) == TAKEN


def test_a_launcher_that_was_killed_is_started_anew(launcher: Launcher, tmp_path: Path) -> None:
    before = launchers()
    assert launcher.begin(order(tmp_path / "one")) == BEGUN
    (pid,) = launchers() - before
    os.kill(pid, signal.SIGKILL)
    assert launcher.begin(order(tmp_path / "two")) == BEGUN
    (again,) = launchers() - before
    assert again != pid


def test_c24_a_launcher_killed_before_it_could_answer_has_run_the_command_once(
    tmp_path: Path,
) -> None:
    launcher, before = slow_launcher(0.5), _children()
    wanted = order(tmp_path / "one", "sh", "-c", "echo ran >> ran")
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(launcher.begin, wanted)
        until(lambda: bool(_children() - before))
        time.sleep(0.2)  # its wrapper is forked, and waits
        for pid in _children() - before:
            os.kill(int(pid), signal.SIGKILL)
        assert answer.result(10) in (BEGUN, TAKEN)
    until((tmp_path / "one/status").exists)
    time.sleep(0.6)
    assert (tmp_path / "one/ran").read_text() == "ran\n"
    launcher.close()


@pytest.mark.skipif(not os.access(UNIFIED, os.W_OK), reason="no control groups to make here")
def test_a_command_begins_in_its_control_group(launcher: Launcher, tmp_path: Path) -> None:
    group = UNIFIED / f"hermes-test-{os.getpid()}"
    group.mkdir()
    wanted = order(tmp_path / "one", "sh", "-c", "cat /proc/self/cgroup; exit 3")
    assert launcher.begin(wanted._replace(groups=(f"{group}/cgroup.procs",))) == BEGUN
    until((tmp_path / "one/status").exists)
    assert f"0::/{group.name}\n" in (tmp_path / "one/output").read_text()
    assert (tmp_path / "one/status").read_text() == "3\n.\n"
    until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


def test_where_no_process_can_begin_in_a_group_it_joins(launcher: Launcher, tmp_path: Path) -> None:
    joined = tmp_path / "cgroup.procs"
    joined.touch()
    wanted = order(tmp_path / "one", "cat", str(joined))
    assert launcher.begin(wanted._replace(groups=(str(joined),))) == BEGUN
    until((tmp_path / "one/status").exists)
    assert (tmp_path / "one/output").read_text() == "0", "before it began"


def test_a_group_that_cannot_be_joined_lets_nothing_run(launcher: Launcher, tmp_path: Path) -> None:
    wanted = order(tmp_path / "one", "touch", "ran")
    assert launcher.begin(wanted._replace(groups=(str(tmp_path / "none/cgroup.procs"),))) == BEGUN
    until((tmp_path / "one/status").exists)
    assert (tmp_path / "one/status").read_text() == "127\n.\n"
    assert not (tmp_path / "one/ran").exists()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_launcher_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    for program in (("/no/such/program",), (sys.executable, "-c", "pass")):
        launcher = Launcher(program)
        with pytest.raises(ToolFailed, match="could not be started"):
            launcher.begin(order(tmp_path / "one"))
        launcher.close()


def test_it_ends_when_it_is_idle_and_nothing_of_it_runs(tmp_path: Path) -> None:
    head = "import sys; sys.path.append(sys.argv.pop(1)); from hermes.terminals import wrapper; "
    launcher = Launcher((sys.executable, "-c", f"{head}wrapper.IDLE_S = 0.2; wrapper.main()", ROOT))
    before = _children()
    assert launcher.begin(order(tmp_path / "one", "sleep", "1")) == BEGUN
    time.sleep(0.7)
    assert _children() - before, "a wrapper of it is alive"
    until(lambda: not _children() - before)
    assert launcher.begin(order(tmp_path / "two")) == BEGUN
    launcher.close()


def _children() -> set[str]:
    """Living ones."""
    said = subprocess.run(
        ["ps", "-o", "pid=,stat=,comm=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    rows = [line.split() for line in said]
    return {row[0] for row in rows if not row[1].startswith("Z") and row[2] != "ps"}


async def test_it_ends_with_its_terminal_and_what_it_began_goes_on(
    calls: Path, launch: Made, tmp_path: Path
) -> None:
    before = launchers()
    first = LocalTerminal(calls, environ=os.environ)
    await first.launch(launch("sleep 0.5; echo done > made"))
    await first.close()
    assert launchers() == before
    second = LocalTerminal(calls, environ=os.environ)
    assert (await second.wait(CALL, 10)).state == Ended(0)
    assert (tmp_path / "made").read_text() == "done\n"
    await second.close()


@pytest.mark.parametrize("module", ["wrapper", "sandbox.enter"])
def test_its_programs_need_the_standard_library_alone(module: str) -> None:
    code = (
        f"import sys; sys.path.append(sys.argv[1]); import hermes.terminals.{module} as it\n"
        "print(it.__name__, 'threading' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True, text=True, check=True
    )
    name, threads = said.stdout.split()
    assert name == f"hermes.terminals.{module}"
    assert threads == "False", "it would cost every fork half a millisecond"


def test_the_launcher_knows_the_way_into_a_box_by_the_same_words() -> None:
    code = "import sys; sys.path.append(sys.argv[1])\n"
    code += "from hermes.terminals.program import ENTER; print('|'.join(ENTER))"
    words = [*LAUNCHER[:5], "-c", code, ROOT]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    assert said.stdout == "|".join(ENTER) + "\n"
