"""What judging costs: a command, ten hostile kilobytes, and a decision, against a plain parse.

    python -m bench.policy [ROUNDS]

Prints the median and the 99th percentile of processor time in microseconds, and how many times as
long as parsing `ls -la` each takes; the ratio is the same on a slow machine and on a quick one.
"""

import sys
import time
from collections.abc import Callable

from hermes.core.policy import Action, Capability, PolicyContext, PolicySubject, Role, decide
from hermes.tools.shell.parser import COMMAND_BYTES_MAX, tree_of
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.verdict import judge

ROUNDS = 300
P99_MAX_S = 0.001
PLACE = CommandPlace(root="/srv/project", cwd="/srv/project", home="/home/you")
COMMANDS = {
    "a plain command": "ls -la src",
    "a pipeline": "grep -rn 'def ' src | sort | uniq -c | sort -rn | head -20",
    "a loop": 'for f in src/*.py; do wc -l "$f"; done',
    "50 commands": "true && " * 49 + "ls",
}
HOSTILE = ("(", "$(", '"', "'a' ", "`", "true && ", "a|", "a ", "<<A ", "\\a", "a", "../", "*")


def main(rounds: int) -> int:
    unit = _times(lambda: tree_of("ls -la"), rounds)[0]
    worst = 0.0
    for name, command in COMMANDS.items():
        worst = max(worst, _told(name, lambda each=command: judge(each, PLACE), rounds, unit))
    for piece in HOSTILE:
        command = "cat " + (piece * COMMAND_BYTES_MAX)[: COMMAND_BYTES_MAX - 4]
        name = f"10 kB of {piece!r}"
        worst = max(worst, _told(name, lambda each=command: judge(each, PLACE), rounds, unit))
    principal = PolicySubject(Role.OWNER, "you")
    action = Action(tool="terminal", capabilities=frozenset({Capability.EXECUTE}))
    setting = PolicyContext(at=0.0, profile="write", labels=frozenset({"untrusted"}))
    _told("a decision", lambda: decide(principal, action, setting), rounds, unit)
    print(f"worst 99th percentile: {worst * 1e6:,.0f} µs, allowed {P99_MAX_S * 1e6:,.0f} µs")
    return 0 if worst <= P99_MAX_S else 1


def _told(name: str, act: Callable[[], object], rounds: int, unit: float) -> float:
    median, late = _times(act, rounds)
    print(f"{name:24}  {median * 1e6:8,.0f} µs  p99 {late * 1e6:8,.0f} µs  x{median / unit:,.1f}")
    return late


def _times(act: Callable[[], object], rounds: int) -> tuple[float, float]:
    act()
    taken = []
    for _ in range(rounds):
        began = time.thread_time()
        act()
        taken.append(time.thread_time() - began)
    taken.sort()
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
