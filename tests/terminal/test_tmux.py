"""The window inside tmux, as people have it over SSH."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from journey.cli_program import Program
from terminal.stage import MARK, stage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
PATIENCE_S = 60.0


class Tmux:
    """A server of its own, with one window of 80 columns."""

    def __init__(self, program: Program, *, in_bash: bool = False) -> None:
        self._socket = str(program.folder / "tmux")
        self.words = " ".join(f"'{word}'" for word in program.command())
        words = "bash --norc --noprofile -i" if in_bash else self.words
        env = program.env() | {"TERM": "xterm-256color"}
        start = ["new-session", "-d", "-x", "80", "-y", "24", words]
        self._run(*start, env=env, cwd=program.folder)

    def _run(self, *words: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        ended = subprocess.run(
            command, env=env, cwd=cwd, capture_output=True, text=True, timeout=30, check=False
        )
        return ended.stdout

    def keys(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def write(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def screen(self, *, coloured: bool = False) -> str:
        return self._run("capture-pane", "-p", *(["-e"] if coloured else []), "-S", "-200")

    def until(self, wanted: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if wanted in (seen := self.screen()):
                return seen
            time.sleep(0.1)
        raise AssertionError(f"{wanted!r} was not seen:\n{self.screen()}")

    def until_last(self, wanted: str) -> None:
        """Until the last row that has something begins with this."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.screen().rstrip().split("\n")[-1].startswith(wanted):
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.1)

    def resize(self, columns: int) -> None:
        self._run("resize-window", "-x", str(columns), "-y", "24")

    def close(self) -> None:
        self._run("kill-server")


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(stage(tmp_path, HERMES_APPROVALS__MODE="allow"))
    try:
        yield server
    finally:
        server.close()


def test_inside_tmux_it_answers_in_colours_stops_and_leaves(tmux: Tmux) -> None:
    tmux.until("own engine")
    tmux.write("markdown")
    tmux.keys("Enter")
    tmux.until("The end.")
    assert "\x1b[" in tmux.screen(coloured=True)
    tmux.write("slow")
    tmux.keys("Enter")
    tmux.until("│ row 3")
    tmux.keys("C-c")
    tmux.until("Stopped.")
    tmux.write("two")
    tmux.keys("M-Enter")
    tmux.write("lines")
    tmux.keys("Enter")
    tmux.until("You said: two")


def test_ctrl_z_suspends_and_fg_draws_the_window_again(tmp_path: Path) -> None:
    tmux = Tmux(stage(tmp_path), in_bash=True)
    try:
        tmux.until("bash")
        tmux.write("PS1='ready> '")
        tmux.keys("Enter")
        tmux.until_last("ready>")
        tmux.write(tmux.words)
        tmux.keys("Enter")
        tmux.until("own engine")
        tmux.write("half a line")
        tmux.until(f"{MARK} half a line")
        tmux.keys("C-z")
        tmux.until("Stopped")
        tmux.write("echo $((6*7)) from the shell")
        tmux.keys("Enter")
        tmux.until("42 from the shell")
        tmux.resize(60)
        tmux.write("fg")
        tmux.keys("Enter")
        tmux.until(f"{MARK} half a line")
        tmux.write(" more")
        tmux.keys("Enter")
        tmux.until("You said: half a line more")
        tmux.keys("C-d")
        tmux.until_last("ready>")
    finally:
        tmux.close()


def test_inside_tmux_the_window_may_change_its_width(tmux: Tmux) -> None:
    tmux.until("own engine")
    tmux.write("hello")
    tmux.keys("Enter")
    tmux.until("You said: hello")
    tmux.resize(50)
    tmux.write("again")
    tmux.keys("Enter")
    seen = tmux.until("You said: again")
    assert seen.count("You said: hello") == 1
    assert f"{MARK} again" in seen
