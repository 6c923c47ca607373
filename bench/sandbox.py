"""What a box costs: a small command inside, beside the same command without one.

`python -m bench.sandbox [--runs N] [--ballast MB]` prints a line for each kind of box that works
here: the median of the whole way through the launcher, what the box adds to that, and how many
times a plain start of the shell it comes to with that added. The ballast makes this process as big
as a gateway after a long day. SBX-7 wants at most 6 times; more ends with an error.
"""

import argparse
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hermes.ports.sandbox import BoxRequest, Sandbox
from hermes.terminals.environment import environments
from hermes.terminals.orders import BEGUN, SpawnOrder
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.choice import FileOwners, Unboxed, landlock_version, this_machine
from hermes.terminals.sandbox.ground import Ground, Means
from hermes.terminals.sandbox.landlock import ABI_MIN, LandlockSandbox
from hermes.terminals.sandbox.limits import Caps, Cgroups
from hermes.terminals.sandbox.places import places_of
from hermes.terminals.sandbox.seccomp import TABLES, Machine
from hermes.terminals.spawn import Launcher, asked

TIMES_MAX = 6.0
PAUSE_S = 0.01  # what one command leaves to the kernel should not slow the next
NO_BOX = "no box"


def sandboxes(place: Path) -> dict[str, Sandbox]:
    here, caps = this_machine(), Caps()
    workspace, home = place / "work", place / "home"
    workspace.mkdir()
    home.mkdir()
    ground = Ground(
        places=places_of(workspace, home),
        seen=environments(os.environ),
        caps=caps,
        cgroups=Cgroups((), caps),
        maps=FileOwners(asked).can_map,
    )
    made: dict[str, Sandbox] = {NO_BOX: Unboxed(ground.seen.host, caps, ground.cgroups)}
    machine, root = _machine(), os.geteuid() == 0
    if program := here.which("bwrap"):
        means = Means(machine=machine, other_user=root, scoped=landlock_version() >= ABI_MIN)
        made["bubblewrap"] = BubblewrapSandbox(ground, means, program)
    ways = {
        "landlock": Means(machine=machine, own_users=not root, other_user=root),
        "landlock, own users": Means(machine=machine),
        "landlock, no namespaces": Means(machine=machine, namespaces=False, own_users=False),
    }
    return made | {name: LandlockSandbox(ground, means) for name, means in ways.items()}


def _machine() -> Machine:
    name = os.uname().machine
    return next(each for each in TABLES if each == name)


def plain_start() -> None:
    shell = ("bash", "-c", "true")
    subprocess.run(shell, env={"PATH": "/usr/bin:/bin"}, check=True, stdin=subprocess.DEVNULL)


class Way:
    """Commands in one kind of box, as the terminal starts them."""

    def __init__(self, sandbox: Sandbox, place: Path, name: str) -> None:
        self._sandbox = sandbox
        self._place = place
        self._name = name
        self._launcher = Launcher()
        self._count = 0

    def run(self) -> None:
        self._count += 1
        folder = self._place / f"{self._name}-{self._count}"
        folder.mkdir()
        workdir = str(self._place / "work")
        box = self._sandbox.box(BoxRequest(profile="write", call="bench", workdir=workdir))
        order = SpawnOrder(
            folder=str(folder),
            workdir=workdir,
            output_bytes=1_000,
            stdin=False,
            groups=box.groups,
            environment=box.environment,
            arguments=(*box.arguments, "bash", "-c", f"{box.limits}; true"),
        )
        if self._launcher.begin(order) != BEGUN:
            sys.exit("the command did not begin")
        _wait_for(int((folder / "begun").read_text("utf-8").split("\n")[0]))
        if not (folder / "status").read_text("utf-8").startswith("0\n"):
            sys.exit((folder / "output").read_text("utf-8"))

    def close(self) -> None:
        self._launcher.close()


def _wait_for(pid: int) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([pidfd], [], [])
    os.close(pidfd)


def took_ms(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    took = time.perf_counter() - began
    time.sleep(PAUSE_S)
    return took * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--ballast", type=int, default=600)
    chosen = parser.parse_args()
    ballast = bytearray(os.urandom(1024) * 1024 * chosen.ballast)
    with tempfile.TemporaryDirectory() as place:
        ways = {
            name: Way(sandbox, Path(place), name)
            for name, sandbox in sandboxes(Path(place)).items()
        }
        times: dict[str, list[float]] = {"plain": [], **{name: [] for name in ways}}
        for way in ways.values():
            way.run()  # the first one starts the launcher
        for _ in range(chosen.runs):  # in turn, so that what else runs here meets all alike
            times["plain"].append(took_ms(plain_start))
            for name, way in ways.items():
                times[name].append(took_ms(way.run))
        for way in ways.values():
            way.close()
    medians = {name: statistics.median(measured) for name, measured in times.items()}
    print(f"ballast {len(ballast) // 1024**2} MB, {chosen.runs} runs")
    print(f"{'plain start of bash':26} {medians['plain']:6.2f} ms")
    print(f"{'wrapped, ' + NO_BOX:26} {medians[NO_BOX]:6.2f} ms")
    worst = 0.0
    for name in [name for name in ways if name != NO_BOX]:
        added = medians[name] - medians[NO_BOX]
        ratio = (medians["plain"] + added) / medians["plain"]
        worst = max(worst, ratio)
        print(f"{name:26} {medians[name]:6.2f} ms  box +{added:5.2f} ms  x{ratio:4.1f}")
    if worst > TIMES_MAX:
        sys.exit(f"A box costs {worst:.1f} times a plain start; at most {TIMES_MAX:g} is wanted.")


if __name__ == "__main__":
    main()
