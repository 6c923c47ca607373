"""hermes memory replace: change an entry."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.memory.entries import apply_change, target_holding
from hermes.cli.memory.opening import with_memories
from hermes.ports.memory import (
    Memories,
    MemoryChange,
    MemoryClaim,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


class MemoryReplaceOptions:
    entry: str
    text: list[str]


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("entry", metavar="ENTRY", help="its id, or words that occur only in it")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the new text")


def run(options: MemoryReplaceOptions, context: CliContext, memories: Memories) -> int:
    new = (MemoryClaim(" ".join(options.text)),)
    target = target_holding(memories, options.entry)
    return apply_change(
        context,
        memories,
        MemoryChange(action="replace", target=target, new=new, old=(options.entry,)),
    )


COMMAND = CliCommand(
    options=MemoryReplaceOptions,
    run=with_memories(run),
    arguments=_arguments,
)
