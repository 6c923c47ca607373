"""hermes skills proposals: list the agent's proposals."""

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.cli.output.times import ago
from hermes.cli.skills.documents import proposal_document
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    table,
)
from hermes.ports.skills import Skills

NOTHING_WAITS = "There are no proposals"


def run(options: JsonOptions, context: CliContext, library: Skills) -> int:
    waiting = library.proposals.waiting()
    if options.json:
        context.console.document([proposal_document(each) for each in waiting])
    elif not waiting:
        context.console.tell(NOTHING_WAITS)
    else:
        now = context.clock()
        cells = [
            (p.id, p.name, p.action, "untrusted" if p.untrusted else "-", ago(p.at, now), p.why)
            for p in waiting
        ]
        table(context.console, ("ID", "SKILL", "WANTS TO", "MARK", "WHEN", "WHY"), cells)
    return DONE


COMMAND = CliCommand(
    options=JsonOptions,
    run=with_skills(run),
    arguments=json_option,
)
