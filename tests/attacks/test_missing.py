"""SBX-6: a machine that offers no sandbox runs nothing, and says what to do about it."""

import os
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import profile_of
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.terminals.local import LocalTerminal
from hermes.terminals.sandbox.choice import Machinery, this_machine
from hermes.terminals.sandbox.probed import ProbedSandbox
from hermes.terminals.spawn import SpawnReply

NO_SYSTEM_CALL = -38
BARE = Machinery(which=lambda _name: "", landlock=lambda: NO_SYSTEM_CALL)


def lazy(tmp_path: Path, machinery: Machinery) -> ProbedSandbox:
    (tmp_path / "work").mkdir(exist_ok=True)
    return ProbedSandbox(
        "auto",
        workspace=tmp_path / "work",
        home=tmp_path / "home",
        environ=os.environ,
        machinery=machinery,
    )


async def test_sbx_06_without_a_sandbox_nothing_runs(tmp_path: Path) -> None:
    terminal = LocalTerminal(tmp_path / "calls", environ=os.environ, sandbox=lazy(tmp_path, BARE))
    call, work = CallId("turn-1"), tmp_path / "work"
    wanted = CommandLaunch(
        id=call, session=SessionKey("s"), command="touch ran", workdir=str(work), timeout_s=10
    )
    try:
        with pytest.raises(ToolFailed, match=r"Sandbox unavailable.*Nothing was run.*bubblewrap"):
            await terminal.launch(wanted)
        seen = await terminal.look(call)
    finally:
        await terminal.close()
    assert seen is not None
    assert seen.state == Ended(cut="unstarted")
    assert not (work / "ran").exists()


def test_sbx_06_a_box_that_cannot_be_built_is_no_box(tmp_path: Path) -> None:
    broken = Machinery(
        which=lambda name: f"/nowhere/{name}",
        landlock=lambda: 99,
        trial=lambda _arguments, _environment: SpawnReply(1, "no namespaces here"),
    )
    guards = lazy(tmp_path, broken).probe()
    assert not any(guard.active for guard in guards)
    assert "no namespaces here" in " ".join(guard.by for guard in guards)


def test_nothing_is_tried_before_the_first_command_and_then_once(tmp_path: Path) -> None:
    tried: list[str] = []
    here = this_machine()

    def which(name: str) -> str:
        tried.append(name)
        return here.which(name)

    sandbox = lazy(tmp_path, Machinery(which=which, landlock=here.landlock))
    assert sandbox.keeps(str(tmp_path / "work"), "")
    assert not sandbox.keeps("/tmp/gone", "")
    assert tried == []
    first = sandbox.probe()
    if not any(guard.active for guard in first):
        pytest.skip("this machine offers no sandbox")
    count = len(tried)
    assert sandbox.probe() == first
    assert len(tried) == count


def test_the_profile_is_known_without_trying_anything() -> None:
    assert profile_of("auto", ()) == "write"
    assert profile_of("auto", ("packages.example",)) == "net"
    assert profile_of("none", ("packages.example",)) == "host"
