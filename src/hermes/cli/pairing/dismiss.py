"""hermes pairing dismiss: dismiss a request."""

from typing import TYPE_CHECKING

from hermes.cli.approvals.grant_rows import one
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.views.invites import TERMINAL

if TYPE_CHECKING:
    from argparse import ArgumentParser


class PairingDismissOptions(JsonOptions):
    request: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("request", metavar="REQUEST", help="its id, or the beginning of it")
    json_option(parser)


async def run(options: PairingDismissOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        request = one(
            await store.trust.requests(), options.request, lambda each: each.id, "request"
        )
        await store.trust.dismiss(request.id, by=TERMINAL, at=context.clock())
    if options.json:
        context.console.document({"id": request.id, "dismissed": True})
    else:
        context.console.say("Forgotten")
    return DONE


COMMAND = CliCommand(
    options=PairingDismissOptions,
    run=run,
    arguments=_arguments,
)
