"""hermes approvals list: show the questions that are waiting for you."""

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes.cli.approvals.grant_rows import LISTED_MAX
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option
from hermes.cli.output.times import ago, iso
from hermes.core.projection import QuestionRow
from hermes.views.cards import current, folded

if TYPE_CHECKING:
    from argparse import ArgumentParser


NOTHING = "No question is waiting for you"
HOW = (
    "Answer with: hermes approvals answer ID approve|session|folder|always|deny; a question of the "
    "agent with your own words"
)
WIDTH = 100  # of a card when the window's width is unknown


class ApprovalsListOptions(JsonOptions):
    all: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--all", action="store_true", help="also closed questions")
    json_option(parser)


async def run(options: ApprovalsListOptions, context: CliContext) -> int:
    async with open_existing_store(context) as store:
        rows: Sequence[QuestionRow] = ()
        if store is not None:
            rows = await store.library.questions(limit=LISTED_MAX, pending=not options.all)
    if options.json:
        context.console.document([_question_document(row) for row in rows])
    elif not rows:
        context.console.say(NOTHING)
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    for row in () if options.json else rows:
        now = context.clock()
        context.console.head(f"{row.id}  {row.state}, asked {ago(row.asked_at, now)}")
        card = current(row.preview, row.expires_at, now)
        context.console.say(
            "\n".join([f"Session: {session_name(row.key)}", *folded(card, width), ""])
        )
    if rows and not options.json and any(row.state == "pending" for row in rows):
        context.console.advise(HOW)
    return DONE


def _question_document(row: QuestionRow) -> dict[str, object]:
    return {
        "id": row.id,
        "session": row.key,
        "turn": row.turn,
        "tool": row.tool,
        "preview": row.preview,
        "why": row.why,
        "asked_at": iso(row.asked_at),
        "expires_at": iso(row.expires_at or None),
        "state": row.state,
        "decided_by": row.decided_by,
        "decided_at": iso(row.decided_at),
    }


COMMAND = CliCommand(
    options=ApprovalsListOptions,
    run=run,
    arguments=_arguments,
)
