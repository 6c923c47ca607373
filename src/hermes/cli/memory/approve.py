"""hermes memory approve: apply a proposal."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import ME, MemoryDecisionOptions, print_outcome, proposal_argument
from hermes.cli.memory.opening import with_memories
from hermes.ports.memory import (
    Memories,
)


class MemoryApproveOptions(MemoryDecisionOptions):
    """The options of hermes memory approve."""


def run(options: MemoryApproveOptions, context: CliContext, memories: Memories) -> int:
    for name in options.proposal:
        print_outcome(memories.approve(name, ME), context)
    return DONE


COMMAND = CliCommand(
    options=MemoryApproveOptions,
    run=with_memories(run),
    arguments=proposal_argument,
)
