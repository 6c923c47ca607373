"""hermes pairing approve: accept a request."""

from typing import TYPE_CHECKING

from hermes.cli.approvals.grant_rows import one
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.cli.pairing.people import ROLES, print_person, role_argument
from hermes.core.errors import Rejected
from hermes.core.trust import KnownPerson
from hermes.views.invites import TERMINAL

if TYPE_CHECKING:
    from argparse import ArgumentParser


class PairingApproveOptions(JsonOptions):
    request: str
    role: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("request", metavar="REQUEST", help="its id, or the beginning of it")
    role_argument(parser)
    json_option(parser)


async def run(options: PairingApproveOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        request = one(
            await store.trust.requests(), options.request, lambda each: each.id, "request"
        )
        known = KnownPerson(
            platform=request.platform,
            id=request.person,
            role=ROLES[options.role],
            name=request.name,
            chat=request.chat,
            since=context.clock(),
            by=TERMINAL,
        )
        if not await store.trust.admit(known, request=request.id):
            raise Rejected("that request was already answered")
    return print_person(
        options, context, known, f"{known.platform}:{known.id} may talk to Hermes now"
    )


COMMAND = CliCommand(
    options=PairingApproveOptions,
    run=run,
    arguments=_arguments,
)
