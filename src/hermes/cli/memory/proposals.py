"""hermes memory proposals: list changes that wait for your approval."""

from collections.abc import Mapping

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import entry_document
from hermes.cli.memory.opening import with_memories
from hermes.cli.options import json_option
from hermes.cli.output.times import ago, iso
from hermes.ports.memory import (
    Memories,
    MemoryProposal,
)

NO_PROPOSALS = "No proposal waits"


class MemoryProposalsOptions(JsonOptions):
    """The options of hermes memory proposals."""


def run(options: MemoryProposalsOptions, context: CliContext, memories: Memories) -> int:
    proposals = memories.proposals()
    if options.json:
        context.console.document([proposal_document(each) for each in proposals])
    elif not proposals:
        context.console.tell(NO_PROPOSALS)
    else:
        now = context.clock()
        for each in proposals:
            source = f", turn {each.by.turn}" if each.by.turn else ""
            head = f"{each.id}  {each.change.action} in {each.change.target}, {ago(each.at, now)}"
            context.console.head(f"{head}, by {each.by.author}{source}")
            for entry in each.old:
                context.console.say(f"  - {entry.id} {entry.text}")
            for claim in each.change.new:
                context.console.say(f"  + {claim.text}")
            context.console.say(f"  It waits because {each.why}")
        context.console.tell("Decide: hermes memory approve ID, or hermes memory reject ID")
    return DONE


def proposal_document(proposal: MemoryProposal) -> Mapping[str, object]:
    change = proposal.change
    return {
        "id": proposal.id,
        "at": iso(proposal.at),
        "action": change.action,
        "target": change.target,
        "new": [claim.text for claim in change.new],
        "old": [entry_document(entry) for entry in proposal.old],
        "why": proposal.why,
        "author": proposal.by.author,
        "trust": proposal.by.trust,
        "turn": proposal.by.turn or None,
    }


COMMAND = CliCommand(
    options=MemoryProposalsOptions,
    run=with_memories(run),
    arguments=json_option,
)
