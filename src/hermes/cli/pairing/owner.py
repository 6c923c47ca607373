"""hermes pairing owner: add your own account on a platform."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.options import json_option
from hermes.cli.pairing.people import open_new_store, parse_person, print_person
from hermes.core.people import Role
from hermes.core.trust import KnownPerson
from hermes.views.invites import TERMINAL

if TYPE_CHECKING:
    from argparse import ArgumentParser


class PairingOwnerOptions(JsonOptions):
    person: str
    name: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("person", metavar="PLATFORM:ID", help="for example telegram:12345")
    parser.add_argument("--name", default="", help="a note for yourself")
    json_option(parser)


async def run(options: PairingOwnerOptions, context: CliContext) -> int:
    platform, id_ = parse_person(options.person)
    known = KnownPerson(
        platform=platform,
        id=id_,
        role=Role.OWNER,
        name=options.name,
        since=context.clock(),
        by=TERMINAL,
    )
    async with open_new_store(context) as store:
        await store.trust.admit(known)
    return print_person(options, context, known, f"{options.person} is now an owner")


COMMAND = CliCommand(
    options=PairingOwnerOptions,
    run=run,
    arguments=_arguments,
)
