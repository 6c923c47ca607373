"""hermes memory undo: undo the latest change, or a given one."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import ME, print_diff
from hermes.cli.memory.opening import with_memories
from hermes.ports.memory import (
    Memories,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


class MemoryUndoOptions:
    version: int | None


def _arguments(parser: "ArgumentParser") -> None:
    help_ = "which one; default: the latest that is not undone"
    parser.add_argument("version", type=int, nargs="?", metavar="VERSION", help=help_)


def run(options: MemoryUndoOptions, context: CliContext, memories: Memories) -> int:
    version = memories.undo(options.version, ME)
    context.console.say(f"Version {version.number} undoes version {version.undoes}")
    print_diff(memories.diff(version.number), context)
    return DONE


COMMAND = CliCommand(
    options=MemoryUndoOptions,
    run=with_memories(run),
    arguments=_arguments,
    more="Run it again to go further back. An undo is also a version: undo it by its number.",
)
