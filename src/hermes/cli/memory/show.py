"""hermes memory show: print the memory and the paths of its files."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import entry_document
from hermes.cli.memory.opening import with_memories
from hermes.cli.options import json_option
from hermes.cli.output.times import ago
from hermes.ports.memory import (
    TARGETS,
    Memories,
    MemoryEntry,
    Target,
)
from hermes.text.plurals import counted

if TYPE_CHECKING:
    from argparse import ArgumentParser


TITLES: Mapping[Target, str] = {
    "memory": "The world and the work",
    "user": "The person",
    "person": "Portrait of the person",
}
NOTHING = "The memory is empty. Add a fact: hermes memory add TEXT"


class MemoryShowOptions(JsonOptions):
    target: str | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--target", choices=TARGETS, help="only this file")
    json_option(parser)


def run(options: MemoryShowOptions, context: CliContext, memories: Memories) -> int:
    targets = [target for target in TARGETS if options.target in (None, target)]
    if options.json:
        context.console.document({target: _file_document(memories, target) for target in targets})
        return DONE
    shown = [_page(memories, target, context) for target in targets]
    if not any(shown):
        context.console.tell(NOTHING)
    waiting = len(memories.proposals())
    if waiting:
        context.console.tell(
            f"{counted(waiting, 'proposal')} waiting for you: hermes memory proposals"
        )
    return DONE


def _page(memories: Memories, target: Target, context: CliContext) -> bool:
    entries, fill = memories.entries(target), memories.fill(target)
    if not entries:
        return False
    head = f"{TITLES[target]}: {fill.chars:,} of {fill.most:,} characters ({fill.percent}%)"
    context.console.head(head)
    context.console.tell(memories.place(target))
    now = context.clock()
    rows = [
        (each.id, each.author, ago(each.created, now), _used(each, now), each.trust, each.text)
        for each in entries
    ]
    context.console.table(("ENTRY", "BY", "CREATED", "USED", "TRUST", "TEXT"), rows)
    context.console.say("")
    return True


def _used(entry: MemoryEntry, now: float) -> str:
    return ago(entry.used, now) if entry.used else "-"


def _file_document(memories: Memories, target: Target) -> Mapping[str, object]:
    fill = memories.fill(target)
    return {
        "file": memories.place(target),
        "chars": fill.chars,
        "chars_max": fill.most,
        "entries": [entry_document(entry) for entry in memories.entries(target)],
    }


COMMAND = CliCommand(
    options=MemoryShowOptions,
    run=with_memories(run),
    arguments=_arguments,
)
