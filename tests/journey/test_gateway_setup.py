"""A set-up on a real terminal, and what a pipe gets instead."""

import sys
from pathlib import Path
from socket import create_server

import pytest

from journey.cli_program import Program

SETUP = Path(__file__).parents[1] / "doubles" / "setup_program.py"


class SetupProgram(Program):
    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", str(SETUP), *words]


@pytest.fixture
def setup(tmp_path: Path) -> SetupProgram:
    return SetupProgram(tmp_path, {"PATH": "/nowhere"})


def test_a_set_up_on_a_terminal(setup: SetupProgram) -> None:
    with create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = setup.on_terminal(
        typed=[
            ("OpenAI-compatible HTTP API?", "\n"),
            ("Port [8642]", f"{port}\n"),
            ("Talk to people on Telegram?", "n\n"),
        ]
    )
    assert done.status == 0, done.out
    assert "hermes gateway start" in done.out
    config = (setup.home / "config.yaml").read_text()
    assert f"port: {port}" in config
    assert "enabled: true" in config
    assert (setup.home / ".env").read_text().startswith("HERMES_API_KEY=")


def test_a_set_up_that_is_left_keeps_what_was_set(setup: SetupProgram) -> None:
    done = setup.on_terminal(
        typed=[("OpenAI-compatible HTTP API?", "n\n"), ("on Telegram?", "\x04")]
    )
    assert (done.status, "settings made so far are kept" in done.out) == (1, True)


def test_a_pipe_is_told_which_commands_to_run(setup: SetupProgram) -> None:
    done = setup.run()
    assert (done.status, done.out) == (2, "")
    assert "hermes config set platforms.api.enabled true" in done.err
