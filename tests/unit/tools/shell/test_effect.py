"""Which commands only read. A mistake to one side costs a question, to the other side a file."""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.messages import Effect
from hermes.tools.shell.effect import effect_of_command
from hermes.tools.shell.parser import COMMAND_BYTES_MAX

LISTED = Path(__file__).with_name("commands.jsonl")
COMMANDS = [json.loads(line) for line in LISTED.read_text("utf-8").splitlines()]
READERS = [
    row["command"] for row in COMMANDS if row["effect"] == "read" and "#" not in row["command"]
]
WRITERS = [
    row["command"]
    for row in COMMANDS
    if row["effect"] == "effect"
    and row["command"].strip()
    and "\x00" not in row["command"]
    and subprocess.run(["bash", "-n", "-c", row["command"]], capture_output=True).returncode == 0  # noqa: PLW1510
]
# Those that end at once, look at little and start nothing big.
QUIET = [row for row in READERS if re.match(r"(ls|cat|head|echo|printf|test|sort|wc|date)\b", row)]
# What a shell may make something else of, to be put into a harmless command anywhere.
PIECES = json.loads(LISTED.with_name("pieces.json").read_text("utf-8"))


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row["command"][:60])
def test_a_command_has_the_effect_that_the_list_gives(row: dict[str, str]) -> None:
    assert effect_of_command(row["command"]).value == row["effect"]


@given(st.sampled_from(READERS), st.sampled_from(WRITERS), st.sampled_from(["; ", " && ", "\n"]))
def test_a_writer_is_never_hidden_by_readers_around_it(
    reader: str, writer: str, between: str
) -> None:
    for joined in (reader + between + writer, writer + between + reader):
        assert effect_of_command(joined) is Effect.EFFECT


@given(st.sampled_from(READERS), st.data())
def test_a_command_with_a_stray_character_is_read_or_refused_but_never_an_error(
    command: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(command)))
    stray = data.draw(
        st.sampled_from([">", "&", "`", "$(", ")", "'", '"', "\\", "\n", "\x1b", "\r"])
    )
    effect_of_command(command[:at] + stray + command[at:])


@settings(max_examples=int(os.environ.get("HERMES_EXAMPLES", "80")), deadline=None)
@given(st.sampled_from(QUIET), st.lists(st.tuples(st.integers(0, 99), st.sampled_from(PIECES))))
def test_what_counts_as_reading_changes_nothing_when_a_real_shell_runs_it(
    command: str, pieces: list[tuple[int, str]]
) -> None:
    for place, piece in pieces[:3]:
        at = len(command) * place // 99
        command = command[:at] + piece + command[at:]
    if effect_of_command(command) is Effect.EFFECT:
        return
    with tempfile.TemporaryDirectory() as empty:
        environ = {"PATH": os.environ["PATH"], "HOME": empty, "a": "-o x", "f": "-o x"}
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                ["bash", "-c", command],
                cwd=empty,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=2,
            )
        assert list(Path(empty).iterdir()) == [], command


@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(command: str) -> None:
    effect_of_command(command)


@given(st.text("ls;&|()<>$`'\"\\{}[]!#=~*? \n", max_size=60))
def test_shell_signs_in_any_order_never_write_while_counted_as_reading(command: str) -> None:
    if effect_of_command(command) is not Effect.EFFECT:
        assert ">" not in command.replace("'", "").split("#")[0] or "/dev/null" in command


@pytest.mark.parametrize(
    "command",
    [
        "(" * 5_000,
        "$(" * 3_000,
        '"' * 9_000,
        "true && " * 1_000 + "rm x",
        "ls;" * 3_000,
        "{ " * 3_000,
        "<(" * 3_000,
        "if " * 3_000,
        "a" * (COMMAND_BYTES_MAX + 1),
        "echo " + "\U0001f600" * 3_000,
    ],
    ids=lambda command: command[:8],
)
def test_a_hostile_command_is_judged_quickly_and_for_the_worst(command: str) -> None:
    began = time.thread_time()
    assert effect_of_command(command) is Effect.EFFECT
    assert time.thread_time() - began < 0.2
