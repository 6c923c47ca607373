"""Other programs and time that passes: bounded, shown on terminals, silent in pipes."""

import os
import socket
import stat
import sys
import time
from pathlib import Path

from hermes.cli.gateway.service.background import OUTPUT, OUTPUT_BYTES_MAX, spawn, tail
from hermes.cli.gateway.service.probe import serves
from hermes.cli.gateway.service.programs import NOT_FOUND, TIMED_OUT, ask
from hermes.cli.gateway.service.progress import WaitProgress, wait_until
from unit.cli.stage import stage

ENVIRON = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}


def home(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


def test_a_program_is_heard_out() -> None:
    said = ask(["sh", "-c", "echo out; echo err >&2; exit 3"], ENVIRON)
    assert (said.status, said.out, said.err) == (3, "out\n", "err")


def test_a_program_gets_the_environment_that_was_given_and_no_input() -> None:
    assert ask(["sh", "-c", "cat; echo $A"], {**ENVIRON, "A": "b"}).out == "b\n"


def test_a_missing_program_has_said_so() -> None:
    said = ask(["no-such-program"], ENVIRON)
    assert (said.status, said.err) == (NOT_FOUND, "there is no program no-such-program")


def test_a_slow_program_is_ended_and_the_time_was_shown() -> None:
    ticks: list[float] = []
    said = ask(["sleep", "60"], ENVIRON, limit_s=0.3, tick=ticks.append)
    assert (said.status, "took more than" in said.err) == (TIMED_OUT, True)
    assert ticks == sorted(ticks)
    assert len(ticks) >= 2


def test_waiting_ends_when_it_is_done_or_the_time_is_over() -> None:
    answers = iter([False, False, True])
    assert wait_until(lambda: next(answers), 10, WaitProgress(stage(), "x"))
    began = time.monotonic()
    assert not wait_until(lambda: False, 0.3, WaitProgress(stage(), "x"))
    assert 0.2 < time.monotonic() - began < 30


def test_seconds_are_shown_on_a_terminal_and_wiped_at_the_end() -> None:
    console = stage(tty=True, NO_COLOR="1")
    progress = WaitProgress(console, "It drains")
    for waited in (0.1, 1.1, 1.9, 2.5):
        progress.tick(waited)
    progress.clear()
    progress.clear()
    shown = console.stderr.getvalue()
    assert shown == "\r\x1b[KIt drains … 1 s\r\x1b[KIt drains … 2 s\r\x1b[K"


def test_a_pipe_hears_nothing_of_the_waiting() -> None:
    console = stage()
    progress = WaitProgress(console, "It drains")
    progress.tick(5.0)
    progress.clear()
    assert console.stderr.getvalue() == ""


def test_a_background_process_is_cut_loose(tmp_path: Path) -> None:
    """Its own session, no input, the home as its folder, nothing of a supervisor or a turn."""
    script = (
        "import os,sys; print(os.getsid(0) == os.getpid(), os.getcwd(), sys.stdin.read() == '')"
    )
    script += "; print(sorted(n for n in os.environ if n[:6] in ('HERMES', 'NOTIFY', 'OPENAI')))"
    environ = {**ENVIRON, "HERMES_TURN": "t", "NOTIFY_SOCKET": "/x", "OPENAI_API_KEY": "k"}
    child = spawn([sys.executable, "-I", "-c", script], home(tmp_path), environ)
    while child.status() is None:
        time.sleep(0.01)
    assert child.last_words(5).splitlines() == [
        f"True {tmp_path} True",
        "['HERMES_HOME', 'OPENAI_API_KEY']",
    ]
    assert stat.S_IMODE((tmp_path / OUTPUT).stat().st_mode) == 0o600


def test_only_what_this_one_printed_are_its_last_words(tmp_path: Path) -> None:
    output = home(tmp_path) / OUTPUT
    output.write_text("of an older one\n")
    child = spawn(["sh", "-c", "echo mine; exit 4"], tmp_path, ENVIRON)
    while child.status() is None:
        time.sleep(0.01)
    assert (child.status(), child.last_words(5)) == (4, "mine")
    assert output.read_text() == "of an older one\nmine\n"


def test_the_output_is_bounded_over_many_starts(tmp_path: Path) -> None:
    output = home(tmp_path) / OUTPUT
    output.write_text("x" * (OUTPUT_BYTES_MAX + 1))
    child = spawn(["true"], tmp_path, ENVIRON)
    while child.status() is None:
        time.sleep(0.01)
    assert output.stat().st_size == 0
    assert output.with_name("gateway.out.1").stat().st_size == OUTPUT_BYTES_MAX + 1


def test_a_process_that_lives_on_is_let_go_without_a_word(tmp_path: Path) -> None:
    child = spawn(["sleep", "60"], home(tmp_path), ENVIRON)
    child.let_go()
    os.kill(child.pid, 9)
    os.waitpid(child.pid, 0)


def test_where_nobody_listens_nobody_is_ready(tmp_path: Path) -> None:
    assert not serves(tmp_path)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "gateway.sock"))
        assert not serves(tmp_path)


def test_the_tail_of_a_long_text_is_its_last_lines(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_text("".join(f"line {n}\n" for n in range(100_000)))
    assert tail(file, 2) == "line 99998\nline 99999"
    assert tail(tmp_path / "none", 2) == ""
