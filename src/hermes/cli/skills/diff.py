"""hermes skills diff: show a proposal, or the last change of a skill."""

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.cli.skills.documents import proposal_document
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    print_diff,
    print_findings,
)
from hermes.core.errors import Rejected
from hermes.ports.skills import Skills

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SkillsDiffOptions(JsonOptions):
    name: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("name", help="a proposal's id, or the name of a skill")
    json_option(parser)


def run(options: SkillsDiffOptions, context: CliContext, library: Skills) -> int:
    try:
        proposal = library.proposals.found(options.name)
    except Rejected:
        proposal = None
    if proposal is None:
        diff = library.difference(options.name)
        if options.json:
            context.console.document({"name": options.name, "diff": diff})
        else:
            print_diff(context.console, diff)
        return DONE
    diff, advice = library.proposals.difference(proposal), library.proposals.advice(proposal)
    if options.json:
        found = [asdict(finding) for finding in advice]
        context.console.document({**proposal_document(proposal), "diff": diff, "findings": found})
        return DONE
    context.console.head(f"{proposal.id}: {proposal.action} {proposal.name} ({proposal.state})")
    context.console.say(f"Why: {proposal.why}")
    if proposal.untrusted:
        context.console.say(
            "The conversation had read untrusted text before it wrote this: check it carefully."
        )
    print_findings(context.console, advice)
    print_diff(context.console, diff)
    if proposal.state == "waiting":
        context.console.tell(f"hermes skills approve {proposal.id}, or reject {proposal.id}")
    return DONE


COMMAND = CliCommand(
    options=SkillsDiffOptions,
    run=with_skills(run),
    arguments=_arguments,
)
