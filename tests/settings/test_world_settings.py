"""`terminal.…`, `network.…`, `display.…`: where commands run, what they reach, how it looks."""

from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says, plain
from terminal.emulator import Emulator
from terminal.stage import stage
from tests.settings.chats import chat


async def said(folder: Path, command: str, **settings: Any) -> str:
    """What the model was told after it ran this command."""
    async with Model(plain).up() as model:
        done = await chat(folder, model, approvals={"mode": "allow"}, **settings).ask(
            f"run {command}"
        )
        assert done.status == 0, done.err
        return model.asked[-1].results[-1]


@pytest.mark.setting("terminal.workdir")
async def test_commands_run_in_the_folder_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    workdir = {"workdir": str(tmp_path / "elsewhere")}
    assert str(tmp_path / "elsewhere") in await said(tmp_path, "pwd", terminal=workdir)


@pytest.mark.setting("terminal.backend")
async def test_a_backend_that_is_not_there_stops_the_start_and_local_is_this_machine(
    tmp_path: Path,
) -> None:
    """Both hands: a command writes here what the test finds here."""
    async with Model(plain).up() as model:
        refused = await chat(tmp_path, model, terminal={"backend": "docker"}).ask("run pwd")
        assert refused.status != 0
        assert model.asked == [], "nothing runs elsewhere than where it should"
    assert "terminal.backend: “docker” is not a backend of this version" in refused.err
    assert "hermes config set terminal.backend local" in refused.err
    work = tmp_path / "work"
    work.mkdir()
    await said(tmp_path, "touch here", terminal={"backend": "local", "workdir": str(work)})
    assert [file.name for file in work.iterdir()] == ["here"]


@pytest.mark.setting("terminal.timeout_s")
async def test_a_command_ends_after_the_time_of_the_settings(tmp_path: Path) -> None:
    result = await said(tmp_path, "sleep 3600", terminal={"timeout_s": 1.0})
    assert "timed out after" in result, "counted from the launch, which may take its time"


@pytest.mark.setting("terminal.sandbox")
async def test_without_a_sandbox_a_command_writes_where_it_may_not_within_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").mkdir()
    for sandbox in ("auto", "none"):
        terminal = {"sandbox": sandbox, "workdir": str(tmp_path / "work")}
        await said(tmp_path, f"touch {tmp_path}/outside/{sandbox}", terminal=terminal)
    assert [file.name for file in (tmp_path / "outside").iterdir()] == ["none"]


@pytest.mark.setting("network.allow")
async def test_a_page_of_our_own_network_is_read_only_where_that_is_allowed(
    tmp_path: Path,
) -> None:
    async with Model().up() as model:

        def rule(asked: Asked) -> Says:
            page = ("web_extract", {"urls": [f"{model.url}/models"]})
            return Says("done") if asked.results else Says(calls=(page,))

        model.rule = rule
        told = []
        for allowed in ([], [f"127.0.0.1:{model.port}"]):
            done = await chat(tmp_path, model, network={"allow": allowed}).ask("read")
            assert done.status == 0, done.err
            told.append(model.asked[-1].results[-1])
        assert "double" not in told[0]
        assert "network.allow" in told[0]
        assert "double" in told[1]


@pytest.mark.setting("display.plain")
def test_with_plain_there_are_lines_and_no_window(tmp_path: Path) -> None:
    program = stage(tmp_path, HERMES_DISPLAY__PLAIN="true")
    seen = Emulator(program.command(), program.env(), tmp_path)
    try:
        seen.until("you>")
        seen.type("/exit\n")
        assert seen.ended() == 0
    finally:
        seen.close()
    assert b"\x1b" not in seen.raw


@pytest.mark.setting("display.skin")
def test_a_window_has_the_colours_of_its_skin(tmp_path: Path) -> None:
    shades = []
    for skin in ("dark", "light", "mono"):
        program = stage(tmp_path, HERMES_DISPLAY__SKIN=skin)
        seen = Emulator(program.command(), program.env(), tmp_path)
        try:
            seen.until(" main")
            seen.settle()
            shades.append({cell.bg for row in seen.cells for cell in row})
        finally:
            seen.close()
    assert len({frozenset(found) for found in shades}) == 3
