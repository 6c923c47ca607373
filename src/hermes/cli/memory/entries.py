"""Shared by the memory commands: entries for people and for programs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.output.times import iso
from hermes.core.errors import Rejected
from hermes.ports.memory import (
    TARGETS,
    By,
    Memories,
    MemoryChange,
    MemoryEntry,
    MemoryProposal,
    MemoryVersion,
    Same,
    Target,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


ME = By(author="person")
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


class MemoryDecisionOptions:
    proposal: list[str]


def proposal_argument(parser: "ArgumentParser") -> None:
    help_ = "its id (see: hermes memory proposals)"
    parser.add_argument("proposal", nargs="+", metavar="ID", help=help_)


def apply_change(context: CliContext, memories: Memories, change: MemoryChange) -> int:
    made = memories.change(change, ME)
    print_outcome(made, context)
    fill = memories.fill(change.target)
    if fill.chars > fill.most:
        more = f"{fill.chars:,} of {fill.most:,} characters: a prompt leaves out what is used least"
        context.console.tell(f"{memories.place(change.target)} has {more}")
    return DONE


def print_outcome(made: MemoryVersion | MemoryProposal | Same, context: CliContext) -> None:
    match made:
        case Same(entry=entry):
            context.console.say(f"Already stored as {entry.id}")
        case MemoryProposal(id=id_, why=why):
            context.console.say(f"Proposal {id_}: {why}")
        case MemoryVersion(number=number):
            context.console.say(f"Version {number}: {describe_change(made)}")


def target_holding(memories: Memories, name: str) -> Target:
    """Return the file that has the entry; MEMORY.md when none has it."""
    wanted = name.lower()
    fitting = [
        target
        for target in TARGETS
        for entry in memories.entries(target)
        if entry.id == wanted or wanted in entry.text.lower()
    ]
    by_id = [t for t in TARGETS for entry in memories.entries(t) if entry.id == wanted]
    return (by_id or fitting or ["memory"])[0]


def target_named(name: str) -> Target:
    for target in TARGETS:
        if target == name:
            return target
    raise Rejected(f"there is no file “{name}”")


def describe_change(version: MemoryVersion) -> str:
    gone = [f"-{entry.id} {entry.text}" for entry in version.removed]
    new = [f"+{entry.id} {entry.text}" for entry in version.added]
    return "; ".join([*gone, *new]) or "only the layout"


def print_diff(diff: str, context: CliContext) -> None:
    colours = context.console.colours(context.console.stdout)
    for line in diff.splitlines():
        colour = {"+": GREEN, "-": RED}.get(line[:1], "") if colours else ""
        if colour:
            context.console.stdout.write(colour)
        context.console.write(line)
        context.console.stdout.write(f"{PLAIN if colour else ''}\n")


def entry_document(entry: MemoryEntry) -> Mapping[str, object]:
    return {
        "id": entry.id,
        "text": entry.text,
        "author": entry.author,
        "trust": entry.trust,
        "created": iso(entry.created),
        "last_used": iso(entry.used or None),
        "turn": entry.turn or None,
        "supersedes": list(entry.supersedes),
        "evidence": list(entry.evidence),
    }
