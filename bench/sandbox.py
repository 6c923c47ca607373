"""What a box costs: the time of a small program inside, beside the same program without one.

`python -m bench.sandbox [--runs N] [--ballast MB]` prints a line for each kind of box that works
here: the median, what that is more than plain, and the ratio. The ballast makes this process as
big as a gateway after a long day.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes.terminals.environment import environments
from hermes.terminals.sandbox.bubblewrap import BubblewrapSandbox
from hermes.terminals.sandbox.choice import this_machine
from hermes.terminals.sandbox.landlock import LandlockSandbox, Means
from hermes.terminals.sandbox.limits import Caps, Cgroups
from hermes.terminals.sandbox.places import places_of
from hermes.views.sandbox import Sandbox, Wish

SHELL = ("bash", "-c", "true")


def sandboxes(place: Path) -> dict[str, Sandbox]:
    here, caps = this_machine(), Caps()
    workspace, home = place / "work", place / "home"
    workspace.mkdir()
    home.mkdir()
    places, seen = places_of(workspace, home), environments(os.environ)
    none = Cgroups((), caps)
    made: dict[str, Sandbox] = {}
    if program := here.which("bwrap"):
        made["bubblewrap"] = BubblewrapSandbox(
            places, program, environments=seen, caps=caps, cgroups=none
        )
    for name, whole, users in (
        ("landlock", True, os.geteuid() != 0),
        ("landlock, own users", True, True),
        ("landlock, no namespaces", False, False),
    ):
        means = Means(
            perl=here.which("perl"),
            machine=os.uname().machine,  # type: ignore[arg-type]
            namespaces=whole,
            own_users=users,
        )
        made[name] = LandlockSandbox(places, means, environments=seen, caps=caps, cgroups=none)
    return made


def took_ms(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(arguments, env=environment, check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--ballast", type=int, default=0)
    chosen = parser.parse_args()
    ballast = bytearray(os.urandom(1024) * 1024 * chosen.ballast)
    with tempfile.TemporaryDirectory() as place:
        plain: dict[str, list[float]] = {"plain": []}
        boxes = sandboxes(Path(place))
        times = plain | {name: [] for name in boxes}
        wish = Wish(profile="write", call="bench", workdir=str(Path(place) / "work"))
        for _ in range(chosen.runs):  # in turn, so that what else runs here meets all alike
            times["plain"].append(took_ms(SHELL, {"PATH": "/usr/bin:/bin"}))
            for name, sandbox in boxes.items():
                began = time.perf_counter()
                box = sandbox.box(wish)
                planned = (time.perf_counter() - began) * 1000
                arguments = [*box.arguments, "bash", "-c", f"{box.limits}; true"]
                times[name].append(planned + took_ms(arguments, box.environment))
    base = statistics.median(times["plain"])
    print(f"ballast {len(ballast) // 1024**2} MB, {chosen.runs} runs")
    for name, measured in times.items():
        median, least = statistics.median(measured), min(measured)
        more, ratio = median - base, median / base
        print(f"{name:26} {median:6.2f} ms  +{more:5.2f}  x{ratio:4.1f}  least {least:5.2f}")


if __name__ == "__main__":
    main()
