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

from hermes.skills.places import UNAPPROVED
from hermes.terminals.environment import environments
from hermes.terminals.sandbox.bridge import FOLDER, Network
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.choice import landlock_version, this_machine
from hermes.terminals.sandbox.ground import Ground
from hermes.terminals.sandbox.landlock import ABI_MIN, LandlockSandbox, Means
from hermes.terminals.sandbox.limits import Caps, find_cgroups
from hermes.terminals.sandbox.places import Places, places_of
from hermes.terminals.sandbox.seccomp import TABLES
from hermes.terminals.spawn import Answer
from hermes.views.sandbox import Profile, Sandbox, Wish

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
KINDS = ("bubblewrap", "landlock", "landlock-users", "landlock-plain")


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
        """Everything whose change would be damage: all but the work in the workspace."""
        seen: dict[str, tuple[object, ...]] = {}
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
    return bool(attack.needs) and shutil.which(attack.needs, path="/usr/local/bin:/usr/bin") is None


@cache
def common() -> Places:
    """What all boxes of a test run have in common; looking it up takes a while."""
    return places_of(Path("/nowhere"), Path("/nowhere"))


def sandbox_of(
    kind: str,
    victim: Victim,
    caps: Caps | None = None,
    *,
    hosts: tuple[str, ...] = (),
    skills: Path | None = None,
) -> Sandbox:
    """The box of that kind, or a skip that says why this machine has none."""
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
    ground = Ground(places=places, seen=seen, caps=chosen, cgroups=cgroups, network=network)
    if kind == "bubblewrap":
        program = here.which("bwrap") or pytest.skip("bubblewrap is not installed")
        return BubblewrapSandbox(ground, program)
    if landlock_version() < ABI_MIN or os.uname().machine not in TABLES:
        pytest.skip("this kernel has no Landlock that is new enough")
    means = Means(
        machine=os.uname().machine,  # type: ignore[arg-type]
        namespaces=kind != "landlock-plain",
        own_users=kind == "landlock-users" or (kind == "landlock" and os.geteuid() != 0),
    )
    return LandlockSandbox(ground, means)


def boxed(sandbox: Sandbox, victim: Victim, command: str, profile: Profile = "write") -> Answer:
    wish = Wish(profile=profile, call=f"attack-{os.getpid()}", workdir=str(victim.workspace))
    box = sandbox.box(wish)
    return ran(victim, box.around(["bash", "-c", victim.commanded(command)]), box.environment)


def unboxed(victim: Victim, command: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(victim.home)}
    return ran(victim, ["bash", "-c", victim.commanded(command)], environment).text


def ran(victim: Victim, arguments: Sequence[str], environment: Mapping[str, str]) -> Answer:
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
    return Answer(ended.returncode, ended.stdout.decode("utf-8", "replace"))


def demand_working(sandbox: Sandbox, victim: Victim) -> None:
    answer = boxed(sandbox, victim, "echo inside")
    if answer != Answer(0, "inside\n"):
        pytest.skip(f"this machine does not allow it: {answer.text.strip()}")
