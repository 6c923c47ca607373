"""hermes memory reject: drop a proposal."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import ME, MemoryDecisionOptions, proposal_argument
from hermes.cli.memory.opening import with_memories
from hermes.ports.memory import (
    Memories,
)


class MemoryRejectOptions(MemoryDecisionOptions):
    """The options of hermes memory reject."""


def run(options: MemoryRejectOptions, context: CliContext, memories: Memories) -> int:
    for name in options.proposal:
        context.console.say(f"Dropped {memories.reject(name, ME).id}")
    return DONE


COMMAND = CliCommand(
    options=MemoryRejectOptions,
    run=with_memories(run),
    arguments=proposal_argument,
)
