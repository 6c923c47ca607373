"""A command that fails because of its sandbox, as the model and the person see it."""

from pathlib import Path

import pytest

from journey.cli_program import Program, scripted

LOOKUP = "python3 -c 'import socket; socket.getaddrinfo(\"x.example\", 80)'"


def program(folder: Path) -> Program:
    made = scripted(folder)
    made.environ["HERMES_APPROVALS__MODE"] = "allow"
    return made


@pytest.mark.parametrize(
    ("command", "last", "blocked"),
    [
        (LOOKUP, "socket.gaierror", "blocked by the sandbox: no network"),
        ("touch /usr/bin/mine", "/usr/bin/mine", "blocked by the sandbox: "),
    ],
    ids=["network", "files"],
)
def test_what_the_sandbox_blocked_is_told_to_the_model_and_to_the_person(
    tmp_path: Path, command: str, last: str, blocked: str
) -> None:
    done = program(tmp_path).on_terminal("chat", "-q", f"run {command}")
    seen = " ".join(done.out.split())
    assert "terminal: failed (" in seen
    remark = seen.partition("terminal: failed (")[2].partition("It said:")[0]
    assert last in remark, "the command's own last words"
    assert blocked in remark
    heard = seen.partition("It said:")[2]
    assert last in heard
    assert blocked in heard, "the model read it"


def test_a_command_that_fails_by_itself_is_not_blamed_on_the_sandbox(tmp_path: Path) -> None:
    done = program(tmp_path).on_terminal("chat", "-q", "run sh -c 'echo no such luck >&2; exit 6'")
    seen = " ".join(done.out.split())
    assert "terminal: failed (no such luck)" in seen
    assert "It said: no such luck [exit status 6]" in seen
    assert "sandbox" not in seen
