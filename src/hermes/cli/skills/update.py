"""hermes skills update: update an installed skill and show what changed."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.skills.consent import ConsentOptions, consent_arguments
from hermes.cli.skills.names import (
    name_argument,
)
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    DIGEST_CHARS,
)
from hermes.cli.skills.taking import take
from hermes.ports.skills import Skills

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SkillsUpdateOptions(ConsentOptions):
    name: str


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    consent_arguments(parser)


def run(options: SkillsUpdateOptions, context: CliContext, library: Skills) -> int:
    candidate = library.intake.again(options.name)
    if candidate.digest == candidate.before:
        library.intake.discard(candidate)
        context.console.say(f"{options.name} is unchanged: {candidate.digest[:DIGEST_CHARS]}")
        return DONE
    return take(library, candidate, options, context)


COMMAND = CliCommand(
    options=SkillsUpdateOptions,
    run=with_skills(run),
    arguments=_arguments,
)
