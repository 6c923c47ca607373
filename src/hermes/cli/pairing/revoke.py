"""hermes pairing revoke: remove a person at once, and stop what runs for them."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.options import json_option
from hermes.cli.pairing.people import configured_owners, open_new_store, parse_person, print_person
from hermes.core.errors import Rejected
from hermes.core.people import Role
from hermes.core.trust import KnownPerson
from hermes.views.invites import TERMINAL

if TYPE_CHECKING:
    from argparse import ArgumentParser


class PairingRevokeOptions(JsonOptions):
    person: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("person", metavar="PLATFORM:ID", help="as hermes pairing list shows it")
    json_option(parser)


async def run(options: PairingRevokeOptions, context: CliContext) -> int:
    platform, id_ = parse_person(options.person)
    async with open_new_store(context) as store:
        people = (await store.trust.register()).people
        before = people.get((platform, id_))
        if before is None and (platform, id_) not in configured_owners(context.settings()):
            raise Rejected(f"{options.person} is not known here. See: hermes pairing list")
        known = KnownPerson(
            platform=platform,
            id=id_,
            role=Role.STRANGER,
            name=before.name if before is not None else "",
            chat=before.chat if before is not None else "",
            since=context.clock(),
            by=TERMINAL,
        )
        await store.trust.revoke(known)
    return print_person(options, context, known, f"{options.person} is removed")


COMMAND = CliCommand(
    options=PairingRevokeOptions,
    run=run,
    arguments=_arguments,
)
