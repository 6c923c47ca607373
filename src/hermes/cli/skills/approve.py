"""hermes skills approve: approve a proposal."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.names import (
    ProposalNameOptions,
    proposal_argument,
)
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    DIGEST_CHARS,
)
from hermes.ports.skills import Skills


def run(options: ProposalNameOptions, context: CliContext, library: Skills) -> int:
    made = library.proposals.approve(options.name)
    context.console.say(f"{made.name} is active: {made.digest[:DIGEST_CHARS]}")
    return DONE


COMMAND = CliCommand(
    options=ProposalNameOptions,
    run=with_skills(run),
    arguments=proposal_argument,
)
