"""hermes skills view: print a skill, or one of its files."""

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.cli.skills.documents import skill_document
from hermes.cli.skills.names import name_argument
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    SOURCES,
    print_skill,
)
from hermes.ports.skills import Skills

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SkillsViewOptions(JsonOptions):
    name: str
    file: str


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    parser.add_argument("file", nargs="?", default="", help="one of its files")
    json_option(parser)


def run(options: SkillsViewOptions, context: CliContext, library: Skills) -> int:
    if options.file:
        context.console.write(library.text(options.name, options.file))
        return DONE
    shown = library.shown(options.name)
    if options.json:
        document = {**asdict(shown), "row": skill_document(shown.row)}
        document["files"] = [asdict(file) for file in shown.files]
        document["findings"] = [asdict(finding) for finding in shown.findings]
        context.console.document(document)
        return DONE
    print_skill(context.console, shown, SOURCES[shown.row.source])
    return DONE


COMMAND = CliCommand(
    options=SkillsViewOptions,
    run=with_skills(run),
    arguments=_arguments,
)
