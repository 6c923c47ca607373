"""hermes skills disable: disable a skill."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.names import SkillNameOptions, name_argument
from hermes.cli.skills.opening import with_skills
from hermes.ports.skills import Skills


def run(options: SkillNameOptions, context: CliContext, library: Skills) -> int:
    library.switch(options.name, on=False)
    context.console.say(f"{options.name} is disabled")
    return DONE


COMMAND = CliCommand(
    options=SkillNameOptions,
    run=with_skills(run),
    arguments=name_argument,
)
