"""A chat attached to a running gateway: the same sessions, kept through restarts."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from journey.cli_program import PATIENCE_S, SCRIPT, Done, Program

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
WORDS = "one two three four five six seven eight"
GATEWAYS = [
    {"match": "^who", "steps": [{"text": "The gateway."}]},
    {"match": "^ponder", "steps": [{"text": WORDS, "chunk_s": 0.3}]},
    *SCRIPT,
]
NONE: set[Path] = set()
CHATS = [{"match": "", "steps": [{"text": "A chat of its own: {last}"}]}]
IMPATIENT = """
import asyncio, os, sys, time
from hermes.cli.chat.ask import ask
from hermes.cli.output.console import standard
from hermes.cli.chat.chat import COMMAND
from hermes.cli.context import CliContext
from hermes.cli.output.tables import table_lines
from hermes.settings import home_of

environ = dict(os.environ)
console = standard(environ, table_lines)
place = CliContext(home=home_of(environ), environ=environ, console=console, clock=time.time)
given = COMMAND.parse(["-q", sys.argv[1]])
sys.exit(asyncio.run(ask(given, place, sys.argv[1], patience_s=0.5)))
"""


class Home(Program):
    """A home whose gateway and chats use different models, which shows which of them answers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {"HERMES_MODEL__PROVIDER": "scripted"})
        for name, script in (("gateway", GATEWAYS), ("chat", CHATS)):
            (folder / f"{name}.json").write_text(json.dumps(script), encoding="utf-8")
        self.plays("chat")

    def plays(self, name: str) -> None:
        self.environ["HERMES_MODEL__NAME"] = str(self.folder / f"{name}.json")

    def gateway(self) -> "subprocess.Popen[str]":
        """Start the gateway and wait until it is ready."""
        self.plays("gateway")
        child = self.start("gateway", "run")
        self.plays("chat")
        assert child.stderr is not None
        while "is ready" not in (line := child.stderr.readline()):
            assert line, f"the gateway did not start: {child.poll()}"
        return child

    @contextlib.contextmanager
    def served(self) -> "Iterator[subprocess.Popen[str]]":
        child = self.gateway()
        try:
            yield child
        finally:
            end(child, signal.SIGTERM)

    def turns(self) -> list[tuple[str, int]]:
        found = self.run("turns", "list", "--json").document
        return [(turn["state"], turn["attempts"]) for turn in found]

    def until(self, holds: Callable[[], bool], child: "subprocess.Popen[str]") -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if child.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"it did not come to that: {child.communicate()}")
            time.sleep(0.02)

    def calls(self) -> set[Path]:
        return set(self.home.glob("calls/*/begun"))

    def until_running(self, child: "subprocess.Popen[str]", before: set[Path] = NONE) -> None:
        """Wait until a new command runs."""
        self.until(lambda: bool(self.calls() - before), child)


def end(child: "subprocess.Popen[str]", how: signal.Signals = signal.SIGKILL) -> None:
    if child.poll() is None:
        child.send_signal(how)
    try:
        child.communicate(timeout=PATIENCE_S)
    finally:
        child.kill()


def told(child: "subprocess.Popen[str]") -> Done:
    out, err = child.communicate(timeout=PATIENCE_S)
    return Done(child.returncode, out, err)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Share one gateway between the tests that leave it unharmed."""
    home = Home(tmp_path_factory.mktemp("lively"))
    with home.served():
        yield home


def test_the_gateway_answers_and_the_chat_shows_it(lively: Home) -> None:
    done = lively.run("chat", "-q", "who is it?", "--session", "a")
    assert done == Done(0, "The gateway.\n", "")


def test_a_script_gets_the_same_document_as_ever(lively: Home) -> None:
    done = lively.run("chat", "-q", "run echo 12345", "--session", "b", "--json")
    found = done.document
    assert (done.status, done.err) == (0, "")
    assert (found["session"], found["state"]) == ("agent:main:local:dm:b", "answered")
    assert "12345" in found["text"]
    assert found["steps"] == 3
    assert found["model"].startswith("scripted:")
    assert found["usage"]["output"] > 0
    assert found["notices"] == []


def test_failures_commands_pictures_and_refusals_are_the_same_as_ever(lively: Home) -> None:
    failed = lively.run("chat", "-q", "fail", "--session", "c")
    assert (failed.status, failed.out) == (1, "")
    assert "The key was refused." in failed.err
    assert lively.run("chat", "-q", "/new", "--session", "c").out == "A new conversation.\n"
    long = lively.run("chat", "-q", "-", "--session", "c", stdin="x" * 100_001)
    assert (long.status, long.out, long.err.count("\n")) == (1, "", 1)
    assert "longer than 100,000 characters" in long.err
    (lively.folder / "a.png").write_bytes(PNG)
    assert lively.run("chat", "-q", "look", "--image", "a.png", "--session", "c").status == 0
    shown = lively.run("sessions", "show", "c", "--json").document
    assert shown["messages"][0]["media"][0]["name"] == "a.png"
    assert lively.run("sessions", "suspend", "c") == Done(0, "c: Suspended.\n", "")


def test_a_terminal_sees_the_answer_as_it_is_written_and_once(lively: Home) -> None:
    done = lively.on_terminal("chat", "-q", "run echo abc", "--session", "d")
    assert done.status == 0
    assert done.out.count("I run it.") == 1
    assert done.out.count("It said: abc") == 1
    assert "→ terminal echo abc" in done.out
    seen = lively.on_terminal(
        "chat", "-q", "ponder", "--session", "d", typed=[("one two", "^C"), ("Stopp", "")]
    )
    assert "eight" not in seen.out, "it was not shown as it came"
    assert (seen.status, "Stopped." in seen.out) == (130, True)


def test_two_chats_of_one_session_each_get_their_own_answer(lively: Home) -> None:
    children = [lively.start("chat", "-q", f"wait {n}", "--session", "e") for n in range(2)]
    assert [told(child).out for child in children] == ["Late.\n"] * 2


def test_what_a_killed_chat_did_not_show_is_shown_by_the_next_one(lively: Home) -> None:
    before = lively.calls()
    child = lively.start("chat", "-q", "run sleep 0.3; echo $((6*7))", "--session", "f")
    lively.until_running(child, before)
    end(child)
    while lively.turns()[0][0] != "answered":
        time.sleep(0.1)
    done = lively.run("chat", "-q", "hello", "--session", "f")
    assert done.out == "You said: hello\n"
    assert done.err.startswith("From before:\n")
    assert "42" in done.err
    assert lively.run("chat", "-q", "hello", "--session", "f").err == ""


def test_the_session_is_the_same_with_and_without_a_gateway(home: Home) -> None:
    before = home.run("chat", "--session", "main", "-q", "hello", "--json").document
    with home.served():
        beside = home.run("chat", "--session", "main", "-q", "hello", "--json").document
    after = home.run("chat", "--session", "main", "-q", "hello", "--json").document
    assert [each["text"] for each in (before, beside, after)] == [
        "A chat of its own: hello",
        "You said: hello",
        "A chat of its own: hello",
    ]
    assert before["session_id"] == beside["session_id"] == after["session_id"]
    assert not (home.home / "gateway.sock").exists()


def test_a_chat_keeps_its_place_when_the_gateway_is_killed_in_the_middle(home: Home) -> None:
    first = home.gateway()
    child = home.start("chat", "-q", "run sleep 1; echo $((6*7))")
    home.until_running(child)
    end(first)
    with home.served():
        done = told(child)
        assert (done.status, done.out.count("42")) == (0, 1)
        assert "The gateway is gone." in done.err
        assert "The gateway is back." in done.err
        assert home.turns() == [("answered", 2)]
        assert home.run("chat", "-q", "hello") == Done(0, "You said: hello\n", "")


def test_a_chat_keeps_its_place_when_the_gateway_restarts_in_good_order(home: Home) -> None:
    home.environ["HERMES_GATEWAY__DRAIN_TIMEOUT_S"] = "0.1"
    with home.served() as gateway:
        child = home.start("chat", "-q", "run sleep 1; echo $((6*7))")
        home.until_running(child)
        gateway.send_signal(signal.SIGUSR1)
        done = told(child)
        assert (done.status, done.out.count("42")) == (0, 1)
        assert "The gateway is back." in done.err
        assert home.turns() == [("answered", 2)]


def test_a_chat_goes_on_by_itself_when_no_gateway_comes_back(home: Home) -> None:
    gateway = home.gateway()
    home.plays("gateway")
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", IMPATIENT, "run sleep 1; echo $((6*7))"],
        env=home.env(),
        cwd=home.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    home.until_running(child)
    end(gateway)
    done = told(child)
    assert (done.status, done.out.count("42")) == (0, 1)
    assert "continuing without one" in done.err
    assert home.turns() == [("answered", 2)]
    assert home.run("chat", "-q", "hello").err == ""


def test_ctrl_c_while_the_gateway_is_away_is_said_when_it_is_back(home: Home) -> None:
    gateway = home.gateway()
    child = home.start("chat", "-q", "slow")
    home.until_running(child)
    end(gateway)
    assert child.stderr is not None
    assert "The gateway is gone." in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    with home.served():
        done = told(child)
        assert (done.status, done.out) == (130, "")
        assert home.turns()[0][0] == "stopped"


def test_ctrl_c_for_the_second_time_leaves_at_once(home: Home) -> None:
    gateway = home.gateway()
    child = home.start("chat", "-q", "run sleep 2")
    home.until_running(child)
    end(gateway)
    assert child.stderr is not None
    assert "The gateway is gone." in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    while "Stopping" not in child.stderr.readline():
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    done = told(child)
    assert (done.status, done.out) == (130, "")
    assert "Traceback" not in done.err


def test_ctrl_c_stops_the_turn_and_not_the_gateway(home: Home) -> None:
    with home.served() as gateway:
        child = home.start("chat", "-q", "slow")
        home.until_running(child)
        child.send_signal(signal.SIGINT)
        done = told(child)
        assert (done.status, done.out) == (130, "")
        assert "Stopping the turn" in done.err
        assert "Traceback" not in done.err
        assert home.turns() == [("stopped", 1)]
        assert gateway.poll() is None
        assert home.run("chat", "-q", "who?").out == "The gateway.\n"
