"""The program from outside: help, usage errors, and what a start may import."""

import os
import subprocess
from pathlib import Path

import pytest

from hermes import __version__
from journey.cli_program import UNSET, Program, scripted


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_help_tells_a_newcomer_what_to_do_first(hermes: Program) -> None:
    done = hermes.run("--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.index("Start:") < done.out.index("hermes chat -q") < done.out.index("sessions")
    assert not hermes.home.exists()


def test_alone_in_a_pipe_it_shows_the_first_steps(hermes: Program) -> None:
    done = hermes.run()
    assert done.status == 0
    assert "hermes model " in done.out
    assert "All commands: hermes --help" in done.out


def test_with_nothing_piped_in_it_shows_the_first_steps(hermes: Program) -> None:
    assert "Start:" in hermes.run(stdin=" \n").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sesions"], "there is no command “hermes sesions”. Did you mean: hermes sessions?"),
        (["sesions", "list"], "To send it as a message: hermes chat -q 'sesions list'"),
        (["sessions", "lst"], "Did you mean: hermes sessions list"),
        (["--frobnicate"], "there is no option --frobnicate"),
        (["sessions", "show"], "the following arguments are required: NAME"),
        (["chat", "-q"], "argument -q/--query: expected one argument"),
        (["chat", "-q", " "], "the message is empty"),
        (["chat"], "the message is empty"),
        (["chat", "-q", "x", "--image", "none.png"], "--image none.png: No such file"),
        (["config", "get", "gateway.bsy"], "there is no setting “gateway.bsy”. Did you mean busy?"),
        (["config", "set", "zzz", "1"], "there is no setting “zzz”"),
        (["config", "set", "gateway", "1"], "gateway is a whole section"),
    ],
)
def test_wrong_usage_is_status_2_and_one_line(hermes: Program, words: list[str], said: str) -> None:
    done = hermes.run(*words)
    assert done.status == 2
    assert done.err.startswith("hermes: ")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


@pytest.mark.parametrize("words", [["chat"], ["sessions"], ["sessions", "list"], ["restore"]])
def test_every_command_explains_itself(hermes: Program, words: list[str]) -> None:
    for asked in ([*words, "--help"], ["help", *words]):
        done = hermes.run(*asked)
        assert done.status == 0
        assert done.out.lower().startswith(f"usage: hermes {' '.join(words)}")


def test_a_message_to_a_platform_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    hermes = scripted(tmp_path)
    for target, said in (
        ("telgram:1", "there is no platform “telgram”. Did you mean telegram?"),
        ("telegram:1", "telegram is not set up here. Set it up with: hermes gateway setup"),
        ("zzz", "there is no platform “zzz”. Choose one of: home"),
    ):
        done = hermes.run("send", target, "hello")
        assert (done.status, done.out) == (2, "")
        assert said in done.err


def test_the_version_is_told_among_other_words(hermes: Program) -> None:
    assert hermes.run("--version", "now").out == f"hermes {__version__}\n"


def imported(hermes: Program, *words: str) -> set[str]:
    command = hermes.command(*words)
    command[1:1] = ["-X", "importtime"]
    told = subprocess.run(
        command, env=hermes.env(), cwd=hermes.folder, capture_output=True, text=True, check=True
    )
    lines = [line for line in told.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_help_loads_almost_nothing(hermes: Program) -> None:
    loaded = imported(hermes, "--help")
    assert not loaded & {"asyncio", "msgspec", "yaml", "rich", "logging", "hermes.app.application"}


def test_asking_for_a_setting_loads_no_engine_and_no_yaml_without_a_file(hermes: Program) -> None:
    hermes.environ["HERMES_MODEL__SERVERS"] = UNSET  # to read its value takes YAML
    loaded = imported(hermes, "config", "get", "gateway.busy")
    assert not loaded & {"asyncio", "yaml", "ruamel.yaml", "rich", "apsw", "hermes.app.application"}


def test_a_reader_who_has_enough_is_no_error(hermes: Program) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        hermes.command("config", "show"),
        env=hermes.env(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_output_that_cannot_be_written_is_one_line(hermes: Program) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            hermes.command("config", "show"),
            env=hermes.env(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr == "hermes: the disk is full. Free some space\n"


def test_errors_are_one_line_unless_they_are_looked_into(hermes: Program) -> None:
    done = hermes.run("sessions", "show", "nobody")
    assert (done.status, done.err.count("\n")) == (1, 1)
    hermes.environ["HERMES_DEBUG"] = "1"
    assert "Traceback" in hermes.run("sessions", "show", "nobody").err


def test_closed_streams_are_no_reason_to_break(hermes: Program) -> None:
    command = " ".join([*hermes.command("config", "get", "gateway.busy"), "<&-"])
    ended = subprocess.run(
        ["sh", "-c", command], env=hermes.env(), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "queue\n", "")
