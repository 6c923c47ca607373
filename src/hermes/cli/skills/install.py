"""hermes skills install: show a skill from other people, then install it."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.skills.consent import ConsentOptions, consent_arguments
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.taking import take
from hermes.ports.skills import Skills

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SkillsInstallOptions(ConsentOptions):
    source: str
    skill: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("source", help="a folder, an archive or a git address (#BRANCH)")
    parser.add_argument("--skill", default="", help="which skill, if there are several")
    consent_arguments(parser)


def run(options: SkillsInstallOptions, context: CliContext, library: Skills) -> int:
    return take(
        library, library.intake.fetch(options.source, skill=options.skill), options, context
    )


COMMAND = CliCommand(
    options=SkillsInstallOptions,
    run=with_skills(run),
    arguments=_arguments,
    more="""examples:
  hermes skills install ./my-skill
  hermes skills install skills.tar.gz --skill pdf-forms
  hermes skills install https://example.com/skills.git#main --skill pdf-forms

It is fetched into quarantine, scanned and shown. Nothing of it is used before
you approve the digest of exactly these bytes.""",
)
