"""hermes skills create: create your own skill."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.names import name_argument
from hermes.cli.skills.opening import with_skills
from hermes.ports.skills import Skills

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SkillsCreateOptions:
    name: str
    description: str


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    parser.add_argument("--description", default="", help="what it is for, and when to use it")


def run(options: SkillsCreateOptions, context: CliContext, library: Skills) -> int:
    description = (
        options.description.strip() or f"Say here what {options.name} is for and when to use it"
    )
    folder = library.create(options.name, description)
    context.console.say(f"{folder / 'SKILL.md'}")
    context.console.tell(f"Write what to do into it; then it is /{options.name} in every chat")
    return DONE


COMMAND = CliCommand(
    options=SkillsCreateOptions,
    run=with_skills(run),
    arguments=_arguments,
)
