"""hermes memory remove: remove an entry; undo restores it."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import apply_change, target_holding
from hermes.cli.memory.opening import with_memories
from hermes.ports.memory import (
    Memories,
    MemoryChange,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


class MemoryRemoveOptions:
    entry: list[str]


def _arguments(parser: "ArgumentParser") -> None:
    help_ = "its id, or words that occur only in it"
    parser.add_argument("entry", nargs="+", metavar="ENTRY", help=help_)


def run(options: MemoryRemoveOptions, context: CliContext, memories: Memories) -> int:
    for name in options.entry:
        apply_change(
            context,
            memories,
            MemoryChange(action="remove", target=target_holding(memories, name), old=(name,)),
        )
    return DONE


COMMAND = CliCommand(
    options=MemoryRemoveOptions,
    run=with_memories(run),
    arguments=_arguments,
)
