"""hermes approvals grants: list what you allowed with “always”."""

from hermes.cli.approvals.grant_rows import describe_grant
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option
from hermes.cli.output.times import iso, stamp
from hermes.core.grants import Grant
from hermes.text.visible_text import visible_text
from hermes.views.folder_trust import FolderAnswer, answers_in

NO_GRANTS = "You have allowed nothing permanently"


class ApprovalsGrantsOptions(JsonOptions):
    """hermes approvals grants"""


async def run(options: ApprovalsGrantsOptions, context: CliContext) -> int:
    async with open_existing_store(context) as store:
        grants = (await store.trust.register()).grants if store is not None else ()
    folders = answers_in(context.home)
    if options.json:
        context.console.document([*map(_grant_document, grants), *map(_folder_document, folders)])
        return DONE
    if not grants and not folders:
        context.console.say(NO_GRANTS)
        return DONE
    now = context.clock()
    rows = [
        (g.id[:12], g.principal, g.tool, describe_grant(g), stamp(g.expires_at, now))
        for g in grants
    ]
    rows += [(f.id[:12], "you", "folder", describe_answer(f), "its files change") for f in folders]
    context.console.table(("GRANT", "FOR", "TOOL", "WHAT", "UNTIL"), rows)
    return DONE


def describe_answer(answer: FolderAnswer) -> str:
    return f"{'trusted' if answer.trusted else 'not trusted'}: {visible_text(answer.folder)}"


def _folder_document(answer: FolderAnswer) -> dict[str, object]:
    return {
        "id": answer.id,
        "principal": "owner",
        "tool": "folder",
        "what": describe_answer(answer),
        "profile": "",
        "expires_at": None,
    }


def _grant_document(grant: Grant) -> dict[str, object]:
    return {
        "id": grant.id,
        "principal": grant.principal,
        "tool": grant.tool,
        "what": describe_grant(grant),
        "profile": grant.profile,
        "expires_at": iso(grant.expires_at),
    }


COMMAND = CliCommand(
    options=ApprovalsGrantsOptions,
    run=run,
    arguments=json_option,
)
