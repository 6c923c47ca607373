"""`hermes status`, `logs`, `config unset` and `uninstall` from outside."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from journey.cli_program import PATIENCE_S, Program, scripted
from journey.test_chat_beside_gateway import Home

# A copy of the program in an environment of this name: the real one must stay installed.
ELSEWHERE = """
import sys
sys.prefix = sys.argv.pop(1)
from hermes.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return scripted(tmp_path)


def test_status_tells_a_newcomer_what_is_missing(tmp_path: Path) -> None:
    done = Program(tmp_path).run("status")
    assert (done.status, done.err) == (0, "")
    assert "no model is set up" in done.out
    assert "hermes gateway start" in done.out
    assert not (tmp_path / "home").exists()


def test_status_tells_what_runs_and_what_waits(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.served() as gateway:
        home.run("chat", "--session", "s", "-q", "run python3 -c 1")
        told = home.run("status").out
        shown = home.run("status", "--json").document
    assert f"ready, pid {gateway.pid}" in told
    assert "1 question waits for you. See: hermes approvals" in told
    assert (shown["gateway"]["state"], shown["gateway"]["pid"]) == ("ready", gateway.pid)
    assert (shown["sessions"], shown["asking"]) == (1, 1)
    assert home.run("status", "--json").document["gateway"] == {"state": "stopped"}


def test_the_log_is_told_in_lines_that_people_read(hermes: Program) -> None:
    assert "There is no log yet" in hermes.run("logs").err
    hermes.environ["HERMES_LOG"] = "debug"
    hermes.run("chat", "-q", "fail")
    log = hermes.home / "logs" / "hermes.log"
    with log.open("a", encoding="utf-8") as file:
        file.write('{"at": "2026-01-02T03:04:05.000+00:00", "level": "error", "from": "x", ')
        file.write('"text": "it broke", "trace": "Traceback"}\nhalf a li')
    done = hermes.run("logs", "-n", "2")
    assert done.out.splitlines()[0].endswith("error   x: it broke")
    assert done.out.splitlines()[1:] == ["Traceback", "       half a li"]
    rows = hermes.run("logs", "--level", "error", "--json").document
    assert [row["text"] for row in rows] == ["it broke", "half a li"]


def test_the_log_is_followed_as_it_grows_and_when_it_is_turned_over(hermes: Program) -> None:
    log = hermes.home / "logs" / "hermes.log"
    log.parent.mkdir(parents=True)
    log.write_text('{"level": "info", "text": "first"}\n')
    child = hermes.start("logs", "--follow", "--json")
    assert child.stdout is not None
    try:
        assert "first" in child.stdout.readline()
        with log.open("a") as file:
            file.write('{"level": "info", "text": "second"}\n')
        assert "second" in child.stdout.readline()
        log.rename(log.with_name("hermes.log.1"))
        log.write_text('{"level": "info", "text": "third"}\n')
        assert "third" in child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=PATIENCE_S)
        assert (child.returncode, err) == (130, "hermes: stopped by Ctrl+C\n")
    finally:
        child.kill()
        child.communicate()


def test_a_setting_goes_back_to_its_default(hermes: Program) -> None:
    file = hermes.home / "config.yaml"
    hermes.run("config", "set", "gateway.busy", "steer")
    hermes.run("config", "set", "model.api_key", "sk-1")
    assert "sk-1" in (hermes.home / ".env").read_text()
    assert hermes.run("config", "unset", "gateway.busy").status == 0
    assert hermes.run("config", "get", "gateway.busy").out == "queue\n"
    assert str(hermes.home / ".env") in hermes.run("config", "unset", "model.api_key").out
    assert "sk-1" not in (hermes.home / ".env").read_text()
    again = hermes.run("config", "unset", "gateway.busy")
    assert (again.status, again.out) == (0, "gateway.busy is not set\n")
    wrong = hermes.run("config", "unset", "gateway.bsy")
    assert (wrong.status, "Did you mean busy?" in wrong.err) == (2, True)
    file.write_text("gateway: {bsy: 1}\n")  # it stops every start, and can be unset
    assert hermes.run("config", "unset", "gateway.bsy").status == 0
    assert hermes.run("config", "show").status == 0


class Installed:
    """A fake checkout with its own environment and a link on the PATH."""

    def __init__(self, hermes: Program) -> None:
        self.hermes = hermes
        self.root = hermes.folder / "checkout"
        self.venv = self.root / ".venv"
        (self.venv / "bin").mkdir(parents=True)
        (self.venv / "hermes-stamp").write_text(f"# run 1\nroot {self.root}\n")
        (self.root / "hermes").write_text("#!/bin/sh\n")
        (self.root / "hermes").chmod(0o755)
        self.link = hermes.folder / ".local" / "bin" / "hermes"
        self.link.parent.mkdir(parents=True)
        self.link.symlink_to(self.root / "hermes")

    def uninstall(self, *words: str) -> "subprocess.CompletedProcess[str]":
        program = [sys.executable, "-P", "-c", ELSEWHERE, str(self.venv), "uninstall"]
        return subprocess.run(
            [*program, *words],
            env=self.hermes.env(),
            cwd=self.hermes.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


def test_uninstall_says_what_it_would_remove_and_needs_a_yes(hermes: Program) -> None:
    here = Installed(hermes)
    done = here.uninstall()
    assert done.returncode == 2
    assert f"the link {here.link}" in done.stdout
    assert f"the environment {here.venv}" in done.stdout
    assert "--yes" in done.stderr
    assert here.link.is_symlink()
    assert here.venv.is_dir()


def test_uninstall_keeps_the_home_and_what_is_not_ours(hermes: Program) -> None:
    hermes.run("chat", "-q", "hello")
    here = Installed(hermes)
    assert here.uninstall("--yes").returncode == 0
    assert not os.path.lexists(here.link)
    assert not here.venv.exists()
    assert (here.root / "hermes").exists()
    assert (hermes.home / "hermes.db").exists()


def test_uninstall_leaves_a_program_that_somebody_else_put_there(hermes: Program) -> None:
    here = Installed(hermes)
    here.link.unlink()
    here.link.write_text("another program")
    (here.venv / "hermes-stamp").write_text("root /somewhere/else\n")
    done = here.uninstall("--yes")
    assert (done.returncode, "There is nothing to remove" in done.stdout) == (0, True)
    assert here.link.read_text() == "another program"
    assert here.venv.is_dir()


def test_purge_removes_what_we_made_in_the_home_and_nothing_else(hermes: Program) -> None:
    hermes.run("chat", "-q", "hello")
    (hermes.home / "diary.txt").write_text("mine")
    here = Installed(hermes)
    done = here.uninstall("--purge", "--yes")
    assert done.returncode == 0, done.stderr
    assert [each.name for each in hermes.home.iterdir()] == ["diary.txt"]
    assert "diary.txt" in done.stderr
    (hermes.home / "diary.txt").unlink()
    (hermes.home / "state.db").write_text("of another program")
    again = here.uninstall("--purge", "--yes")
    assert (again.returncode, (hermes.home / "state.db").exists()) == (78, True), "it is not ours"


def test_uninstall_stops_the_gateway_first(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.served() as gateway:
        done = Installed(home).uninstall("--yes")
        assert done.returncode == 0, done.stderr
        assert gateway.wait(PATIENCE_S) == 0
