"""Which box is built: the strongest that works, and none at all rather than half of one."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import BoxRequest, Sandbox
from hermes.terminals.environment import UNATTENDED
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.choice import Machinery, Refusing, Unboxed, find_sandbox
from hermes.terminals.sandbox.idmap import BOX_USER
from hermes.terminals.sandbox.landlock import LandlockSandbox
from hermes.terminals.sandbox.limits import Caps, Cgroups
from hermes.terminals.spawn import SpawnReply

INSIDE = SpawnReply(0, "inside\n")
ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/home/you", "SOME_API_KEY": "canary"}


class Machine(Machinery):
    """A machine with these programs, that Landlock, and namespaces or none."""

    def __init__(self, *programs: str, abi: int = 7, works: Sequence[str] = ("",)) -> None:
        self.tried: list[str] = []
        super().__init__(
            which=lambda name: f"/usr/bin/{name}" if name in programs else "",
            landlock=lambda: abi,
            trial=self.trying,
            cgroups=lambda caps: Cgroups((), caps),
        )
        self._works = works

    def trying(self, arguments: Sequence[str], _environment: Mapping[str, str]) -> SpawnReply:
        said = " ".join(arguments)
        self.tried.append(said)
        return (
            INSIDE
            if any(word in said for word in self._works)
            else SpawnReply(125, "not allowed\n")
        )


def found(tmp_path: Path, machine: Machine, setting: str = "auto") -> Sandbox:
    workspace, home = tmp_path / "work", tmp_path / "home"
    workspace.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    return find_sandbox(
        "none" if setting == "none" else "auto",
        workspace=workspace,
        home=home,
        environ=ENVIRON,
        machinery=machine,
    )


def wish(tmp_path: Path, profile: str = "write") -> BoxRequest:
    return BoxRequest(profile=profile, call="c", workdir=str(tmp_path / "work"))  # type: ignore[arg-type]


def test_the_box_that_has_landlock_and_namespaces_comes_first(tmp_path: Path) -> None:
    assert isinstance(found(tmp_path, Machine("bwrap")), LandlockSandbox)
    assert isinstance(found(tmp_path, Machine()), LandlockSandbox)


def test_bubblewrap_stands_in_where_landlock_is_missing(tmp_path: Path) -> None:
    for abi in (-1, 0, 5):
        assert isinstance(found(tmp_path, Machine("bwrap", abi=abi)), BubblewrapSandbox)


def test_bubblewrap_stands_in_where_it_alone_may_have_namespaces(tmp_path: Path) -> None:
    alone = Machine("bwrap", works=["--unshare-user"])
    assert isinstance(found(tmp_path, alone), BubblewrapSandbox)
    assert "--unshare-user" not in alone.tried[0], "our own was tried first"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")
def test_root_becomes_another_user_where_its_files_can_be_mapped(tmp_path: Path) -> None:
    class Unmapped(Machine):
        def trying(self, arguments: Sequence[str], environment: Mapping[str, str]) -> SpawnReply:
            return SpawnReply(125, "no") if "true" in arguments else INSIDE

    for machine, kept in ((Machine("bwrap"), False), (Unmapped("bwrap"), True)):
        for abi in (7, 0):
            machine.landlock = lambda abi=abi: abi
            box = found(tmp_path, machine)
            user = next(guard for guard in box.probe() if guard.name == "user of its own")
            assert user.active is not kept
            made = box.box(wish(tmp_path)).arguments
            assert (str(BOX_USER) in made) is not kept


def test_landlock_does_without_namespaces_where_they_are_forbidden(tmp_path: Path) -> None:
    class Closed(Machine):
        def trying(self, arguments: Sequence[str], environment: Mapping[str, str]) -> SpawnReply:
            return SpawnReply(125, "no") if "unshare" in " ".join(arguments) else INSIDE

    box = found(tmp_path, Closed("bwrap"))
    assert isinstance(box, LandlockSandbox)
    guards = {guard.name: guard for guard in box.probe()}
    assert guards["network"].by == "no sockets"
    assert not guards["files that run later"].active


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (Machine(abi=-1), "Landlock is too old or missing"),
        (Machine(abi=5), "version 5"),
        (Machine("bwrap", works=["nothing works"]), "not allowed"),
    ],
)
def test_sbx_06_a_missing_sandbox_refuses_and_says_why(
    tmp_path: Path, machine: Machine, reason: str
) -> None:
    box = found(tmp_path, machine)
    assert isinstance(box, Refusing)
    for profile in ("read", "write", "net", "host"):
        with pytest.raises(ToolFailed, match="Sandbox unavailable") as refused:
            box.box(wish(tmp_path, profile))
        assert reason in str(refused.value)
        assert "Nothing was run" in str(refused.value)
    assert not any(guard.active for guard in box.probe())


def test_a_workspace_that_is_not_there_yet_makes_no_box_weaker(tmp_path: Path) -> None:
    """The real machine is asked: what it can build does not depend on a folder of ours."""
    workspace, home = tmp_path / "work", tmp_path / "home"
    before = find_sandbox("auto", workspace=workspace, home=home, environ=ENVIRON).probe()
    assert not workspace.exists(), "looking leaves nothing behind"
    workspace.mkdir()
    after = find_sandbox("auto", workspace=workspace, home=home, environ=ENVIRON).probe()
    assert before == after


def test_none_is_an_explicit_choice_and_keeps_the_limits(tmp_path: Path) -> None:
    machine = Machine("bwrap")
    box = found(tmp_path, machine, "none")
    assert isinstance(box, Unboxed)
    assert machine.tried == []
    made = box.box(wish(tmp_path))
    assert made.arguments == ()
    assert "ulimit -c 0" in made.limits
    assert "canary" not in made.environment.values()
    assert not box.probe()[0].active


def test_the_host_profile_has_limits_but_no_box(tmp_path: Path) -> None:
    for machine in (Machine("bwrap"), Machine()):
        made = found(tmp_path, machine).box(wish(tmp_path, "host"))
        assert made.arguments == ()
        assert made.limits
        assert made.environment["HOME"] == "/home/you"
        assert "canary" not in made.environment.values()


def test_sec_03_the_environment_in_a_box_names_nothing_of_this_person(tmp_path: Path) -> None:
    made = found(tmp_path, Machine()).box(wish(tmp_path))
    assert made.environment == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/tmp/home",
        "LANG": "C.UTF-8",
        **UNATTENDED,
    }


def test_default_caps_are_those_that_the_documentation_gives() -> None:
    assert Caps() == Caps(
        processes=128,
        memory_bytes=2_147_483_648,
        cpu_s=7_200,
        file_bytes=2_147_483_648,
        scratch_bytes=536_870_912,
        files=1_024,
        disk_bytes=10_737_418_240,
    )
    assert os.path.sep == "/"
