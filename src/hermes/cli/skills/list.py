"""hermes skills list: list all skills."""

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.cli.output.times import ago
from hermes.cli.skills.documents import skill_document
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    SOURCES,
    table,
)
from hermes.ports.skills import Skills

NONE_YET = "No skills yet. Begin one: hermes skills create NAME"


def run(options: JsonOptions, context: CliContext, library: Skills) -> int:
    rows = library.rows()
    if options.json:
        context.console.document([skill_document(row) for row in rows])
        return DONE
    now = context.clock()
    cells = [
        (
            row.name,
            SOURCES[row.source],
            row.state,
            str(row.uses) if row.uses else "-",
            ago(row.last_used_at, now) if row.last_used_at else "-",
            row.problem or row.description,
        )
        for row in rows
    ]
    if not cells:
        context.console.tell(NONE_YET)
        return DONE
    table(context.console, ("NAME", "FROM", "STATE", "USES", "LAST", "WHAT FOR"), cells)
    waiting = len(library.proposals.waiting())
    if waiting:
        context.console.tell(
            f"{waiting} of the agent's proposals wait. See: hermes skills proposals"
        )
    return DONE


COMMAND = CliCommand(
    options=JsonOptions,
    run=with_skills(run),
    arguments=json_option,
)
