"""A copy of a person's home with canaries, and the boxes in which the attacks on it are run."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from hermes.ports.sandbox import BoxRequest, Profile, Sandbox
from hermes.skills.places import UNAPPROVED
from hermes.terminals.environment import environments
from hermes.terminals.sandbox.bridge import FOLDER, Network
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.choice import FileOwners, landlock_version, this_machine
from hermes.terminals.sandbox.ground import Ground, Means
from hermes.terminals.sandbox.landlock import ABI_MIN, LandlockSandbox
from hermes.terminals.sandbox.limits import Caps, find_cgroups
from hermes.terminals.sandbox.places import SandboxPaths, places_of
from hermes.terminals.sandbox.seccomp import TABLES
from hermes.terminals.spawn import SpawnReply, asked
from tests.attacks.machine import machine_state, set_id_files

CANARY = "CANARY"
FILES = {
    ".ssh/id_rsa": f"{CANARY} key\n",
    ".bashrc": "# start\n",
    "project/app.py": "print('work of a month')\n",
    ".hermes/.env": f"OPENAI_API_KEY={CANARY}\n",
    ".hermes/config.yaml": "model: {}\n",
    ".hermes/hermes.db": f"{CANARY} said in confidence\n",
    ".hermes/skills/notes/SKILL.md": "# Notes\n",
    ".hermes/calls/other/output": f"{CANARY} of another call\n",
    ".hermes/workspace/README.md": "# Read me\n",
    ".hermes/workspace/notes.txt": "notes\n",
    ".hermes/workspace/.envrc": "# nothing\n",
    ".hermes/workspace/.vscode/settings.json": "{}\n",
    ".hermes/workspace/AGENTS.md": "Be kind.\n",
    ".hermes/workspace/.git/HEAD": "ref: refs/heads/main\n",
    ".hermes/workspace/.git/config": "[core]\n\trepositoryformatversion = 0\n",
    ".hermes/workspace/.git/hooks/readme": "none yet\n",
    ".hermes/workspace/.git/objects/readme": "\n",
    ".hermes/workspace/.git/refs/readme": "\n",
}
TRAPS = (".envrc", ".vscode", "AGENTS.md", ".git/config", ".git/hooks")
KINDS = ("bubblewrap", "bubblewrap-users", "landlock", "landlock-users", "landlock-plain")
OWNERS = FileOwners(asked)


class Attack(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    command: str
    harm: str
    verify: bool = True
    needs: str = ""


class Victim(Struct, frozen=True):
    home: Path

    @property
    def ours(self) -> Path:
        return self.home / ".hermes"

    @property
    def workspace(self) -> Path:
        return self.ours / "workspace"

    def state(self) -> dict[str, tuple[object, ...]]:
        """Return everything whose change would be damage: the machine, all files outside of the
        workspace, and setuid programs inside it."""
        seen = machine_state() | set_id_files(self.workspace)
        for root, folders, files in os.walk(self.home):
            inside = Path(root)
            if inside == self.workspace:
                folders[:] = []
                continue
            for name in (*folders, *files):
                seen |= _entry(inside / name)
        for trap in TRAPS:
            place = self.workspace / trap
            seen |= _entry(place)
            for below in sorted(place.rglob("*")) if place.is_dir() else []:
                seen |= _entry(below)
        return seen

    def commanded(self, command: str) -> str:
        return command.replace("@HOME@", str(self.home))


def _entry(place: Path) -> dict[str, tuple[object, ...]]:
    if not os.path.lexists(place):
        return {str(place): ("gone",)}
    about = place.lstat()
    content = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
    time = 0 if place.is_dir() else about.st_mtime_ns
    return {str(place): (oct(about.st_mode), content, time)}


def made(place: Path) -> Victim:
    for name, text in FILES.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (place / ".ssh/id_rsa").chmod(0o600)
    return Victim(place)


def attacks() -> list[Attack]:
    text = Path(__file__).with_name("commands.jsonl").read_text("utf-8")
    listed: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    return [Attack(**row) for row in listed]


def lacks(attack: Attack) -> bool:
    if attack.needs == "root":
        return os.geteuid() != 0
    return bool(attack.needs) and shutil.which(attack.needs, path="/usr/local/bin:/usr/bin") is None


@cache
def common() -> SandboxPaths:
    """Return what all boxes of a test run share; finding it takes a while."""
    return places_of(Path("/nowhere"), Path("/nowhere"))


def sandbox_of(
    kind: str,
    victim: Victim,
    caps: Caps | None = None,
    *,
    hosts: tuple[str, ...] = (),
    skills: Path | None = None,
) -> Sandbox:
    """Return the box of that kind, or skip the test with the reason why this machine has none."""
    here, chosen = this_machine(), caps or Caps()
    places = replace(
        common(),
        workspace=victim.workspace.resolve(),
        home=victim.ours.resolve(),
        person=victim.home.resolve(),
        shown=(str(skills),) if skills else (),
        covered=tuple(f"{skills}/{name}" for name in UNAPPROVED),
    )
    seen = environments({**os.environ, "SOME_API_KEY": CANARY})
    cgroups = find_cgroups(chosen)
    lacks = "no networks of their own here" if kind == "landlock-plain" else ""
    door = victim.ours / FOLDER
    network = Network(hosts=hosts, door=door, sealed=landlock_version() >= ABI_MIN, lacks=lacks)
    ground = Ground(
        places=places,
        seen=seen,
        caps=chosen,
        cgroups=cgroups,
        network=network,
        maps=OWNERS.can_map,
    )
    means = means_of(kind)
    if kind.startswith("bubblewrap"):
        program = here.which("bwrap") or pytest.skip("bubblewrap is not installed")
        return BubblewrapSandbox(ground, means, program)
    if landlock_version() < ABI_MIN:
        pytest.skip("this kernel has no Landlock that is new enough")
    return LandlockSandbox(ground, means)


def means_of(kind: str) -> Means:
    root = os.geteuid() == 0
    if os.uname().machine not in TABLES:
        pytest.skip("there is no filter of system calls for this machine")
    if kind.endswith("-users") and not root:
        pytest.skip("only root has a choice of users")
    return Means(
        machine=os.uname().machine,  # type: ignore[arg-type]
        namespaces=kind != "landlock-plain",
        own_users=kind in ("bubblewrap", "bubblewrap-users", "landlock-users")
        or (kind == "landlock" and not root),
        other_user=kind in ("bubblewrap", "landlock") and root,
        scoped=kind == "bubblewrap" and landlock_version() >= ABI_MIN,
    )


def boxed(
    sandbox: Sandbox,
    victim: Victim,
    command: str,
    profile: Profile = "write",
    covered: tuple[str, ...] = (),
) -> SpawnReply:
    wish = BoxRequest(
        profile=profile,
        call=f"attack-{os.getpid()}",
        workdir=str(victim.workspace),
        covered=tuple(str(victim.workspace / name) for name in covered),
    )
    box = sandbox.box(wish)
    return ran(victim, box.around(["bash", "-c", victim.commanded(command)]), box.environment)


def unboxed(victim: Victim, command: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(victim.home)}
    return ran(victim, ["bash", "-c", victim.commanded(command)], environment).text


def ran(victim: Victim, arguments: Sequence[str], environment: Mapping[str, str]) -> SpawnReply:
    ended = subprocess.run(
        arguments,
        cwd=victim.workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return SpawnReply(ended.returncode, ended.stdout.decode("utf-8", "replace"))


def demand_working(sandbox: Sandbox, victim: Victim) -> None:
    answer = boxed(sandbox, victim, "echo inside")
    if answer != SpawnReply(0, "inside\n"):
        pytest.skip(f"this machine does not allow it: {answer.text.strip()}")
