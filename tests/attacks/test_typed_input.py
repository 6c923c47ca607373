"""POL-13: what is typed into a running program is judged as a command of that program."""

import json
from pathlib import Path

import pytest

from hermes.core.rules import Allow, Ask, Deny
from tests.unit.tools.tool_context import Desk


async def desk_with(tmp_path: Path, command: str) -> Desk:
    desk = Desk(tmp_path)
    await desk.do("terminal", "bg", command=command, background=True)
    return desk


def written(data: str, call: str = "bg") -> str:
    return json.dumps({"action": "write", "id": call, "data": data})


@pytest.mark.parametrize("program", ["bash", "/bin/sh -s", "cat | sh", "cat", "$SHELL"])
@pytest.mark.parametrize("data", ["rm -rf x\n", "ls\n", "\\rm x\n", "x"])
async def test_pol_13_nothing_is_typed_into_an_approved_program_without_a_question(
    tmp_path: Path, program: str, data: str
) -> None:
    desk = await desk_with(tmp_path, program)
    try:
        assert isinstance(desk.tools["process"].judge(written(data), {}).verdict, Ask)
    finally:
        await desk.clear()


async def test_pol_13_a_command_that_is_refused_is_refused_here_too(tmp_path: Path) -> None:
    desk = await desk_with(tmp_path, "bash")
    try:
        found = desk.tools["process"].judge(written("cat ~/.ssh/id_rsa\n"), {})
        assert isinstance(found.verdict, Deny)
    finally:
        await desk.clear()


async def test_pol_13_the_card_shows_every_line_and_the_program_that_reads_it(
    tmp_path: Path,
) -> None:
    desk = await desk_with(tmp_path, "bash -i")
    try:
        present = desk.tools["process"].present
        assert present is not None
        seen = present(written("ls\nrm -rf x\x1b[2K\n"), {})
        assert "rm -rf x\\x1b[2K" in seen.text
        assert any("bash -i" in note for note in seen.notes)
        assert seen.bound != present(written("ls\n", "other"), {}).bound
    finally:
        await desk.clear()


async def test_pol_13_looking_at_what_runs_is_no_question(tmp_path: Path) -> None:
    desk = await desk_with(tmp_path, "cat")
    try:
        for action in ("list", "poll", "log", "kill"):
            given = json.dumps({"action": action, "id": "bg"})
            assert isinstance(desk.tools["process"].judge(given, {}).verdict, Allow)
        assert isinstance(desk.tools["process"].judge(written("x", "../../etc"), {}).verdict, Ask)
    finally:
        await desk.clear()
