"""hermes approvals revoke: revoke something you allowed with “always”."""

from typing import TYPE_CHECKING

from hermes.cli.approvals.grant_rows import describe_grant, one
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.text.visible_text import visible_text
from hermes.views.folder_trust import answers_in, forget_answer

if TYPE_CHECKING:
    from argparse import ArgumentParser


class ApprovalsRevokeOptions(JsonOptions):
    grant: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("grant", metavar="GRANT", help="its id, or the first characters of it")
    json_option(parser)


async def run(options: ApprovalsRevokeOptions, context: CliContext) -> int:
    folders = [
        f for f in answers_in(context.home) if options.grant and f.id.startswith(options.grant)
    ]
    if folders:
        folder = one(folders, options.grant, lambda each: each.id, "folder")
        forget_answer(context.home, folder.folder)
        what = f"I will ask again about {visible_text(folder.folder)}"
    else:
        async with open_required_store(context) as store:
            grants = (await store.trust.register()).grants
            grant = one(grants, options.grant, lambda each: each.id, "grant")
            await store.trust.revoke_grant(grant.id, by="the terminal", at=context.clock())
        what = f"Revoked: {describe_grant(grant)}"
    if options.json:
        context.console.document({"id": folders[0].id if folders else grant.id, "revoked": True})
    else:
        context.console.say(what)
    return DONE


COMMAND = CliCommand(
    options=ApprovalsRevokeOptions,
    run=run,
    arguments=_arguments,
)
