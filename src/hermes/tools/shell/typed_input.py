"""Judge and show what is typed into a running program, as a command of that program.

A shell that a person approved runs whatever it reads, and so does an interpreter. What it was told
before is not known here, so nothing that is typed counts as safe: a person sees every line.
"""

import msgspec

from hermes.core.policy import Finding
from hermes.core.ports import Presented
from hermes.core.rules import Ask, Deny
from hermes.ports.terminal import CommandLaunch
from hermes.text.visible_text import both_ends
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.programs import RUNNERS
from hermes.tools.shell.verdict import judge
from hermes.views.cards import code, named

SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh"})
HEAD_CHARS, TAIL_CHARS = 1_500, 500


def input_finding(data: str, launch: CommandLaunch | None, place: CommandPlace) -> Finding:
    """What the policy should know of words on their way into a program."""
    if launch is None:
        return Finding(verdict=Ask("it types into a program that is not known here"))
    names = _programs(launch, place)
    if not names or SHELLS & set(names):
        found = judge(data, place).verdict
        if isinstance(found, Deny):
            return Finding(verdict=found)
        why = f"it types a command into {_listed(names)}"
    elif RUNNERS & set(names):
        why = f"it types code into {_listed(names)}"
    else:
        why = f"it types into {_listed(names)}"
    return Finding(verdict=Ask(why))


def input_presented(data: str, launch: CommandLaunch | None) -> Presented:
    """What a person should see of it: the words, the program, and where that runs."""
    notes = ["Types this into a command that is running"]
    if launch is not None:
        notes += [f"Program: {code(launch.command[:200])}", f"Folder: {named(launch.workdir)}"]
    bound = [launch.id, launch.command, launch.workdir] if launch is not None else []
    return Presented(
        text=both_ends(data, HEAD_CHARS, TAIL_CHARS),
        notes=tuple(notes),
        bound=msgspec.json.encode(bound).decode(),
    )


def _programs(launch: CommandLaunch, place: CommandPlace) -> list[str]:
    """By name, without the folder; empty when that is only known when it runs."""
    calls = judge(launch.command, place).invocations
    names = [(call.name or call.spelled).rpartition("/")[2] for call in calls]
    return names if all(names) else []


def _listed(names: list[str]) -> str:
    return ", ".join(code(name[:40]) for name in dict.fromkeys(names)) or "a program"
