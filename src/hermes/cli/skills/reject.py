"""hermes skills reject: reject a proposal."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.names import ProposalNameOptions, proposal_argument
from hermes.cli.skills.opening import with_skills
from hermes.ports.skills import Skills


def run(options: ProposalNameOptions, context: CliContext, library: Skills) -> int:
    context.console.say(f"Rejected {library.proposals.reject(options.name).id}")
    return DONE


COMMAND = CliCommand(
    options=ProposalNameOptions,
    run=with_skills(run),
    arguments=proposal_argument,
)
