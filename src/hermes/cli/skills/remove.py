"""hermes skills remove: remove an installed skill, or one of the agent's."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.names import SkillNameOptions, name_argument
from hermes.cli.skills.opening import with_skills
from hermes.ports.skills import Skills


def run(options: SkillNameOptions, context: CliContext, library: Skills) -> int:
    library.remove(options.name)
    context.console.advise(f"Removed {options.name}. It is kept: hermes skills undo {options.name}")
    return DONE


COMMAND = CliCommand(
    options=SkillNameOptions,
    run=with_skills(run),
    arguments=name_argument,
)
