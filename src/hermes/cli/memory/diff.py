"""hermes memory diff: show what a version changed."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import print_diff
from hermes.cli.memory.opening import with_memories
from hermes.cli.options import json_option
from hermes.ports.memory import (
    Memories,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


class MemoryDiffOptions(JsonOptions):
    version: int


def _arguments(parser: "ArgumentParser") -> None:
    help_ = "the number of a version (see: hermes memory history)"
    parser.add_argument("version", type=int, metavar="VERSION", help=help_)
    json_option(parser)


def run(options: MemoryDiffOptions, context: CliContext, memories: Memories) -> int:
    diff = memories.diff(options.version)
    if options.json:
        context.console.document({"version": options.version, "diff": diff})
    elif diff:
        print_diff(diff, context)
    else:
        context.console.tell("That version changed nothing in the file")
    return DONE


COMMAND = CliCommand(
    options=MemoryDiffOptions,
    run=with_memories(run),
    arguments=_arguments,
)
