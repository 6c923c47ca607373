"""hermes skills reject: reject a proposal."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.names import ProposalNameOptions, proposal_argument
from hermes.cli.skills.opening import with_skills
from hermes.views.skills import SkillShelf


def run(options: ProposalNameOptions, context: CliContext, shelf: SkillShelf) -> int:
    context.console.say(f"Rejected {shelf.proposals.reject(options.name).id}")
    return DONE


COMMAND = CliCommand(
    options=ProposalNameOptions,
    run=with_skills(run),
    arguments=proposal_argument,
)
