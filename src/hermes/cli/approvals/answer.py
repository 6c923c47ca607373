"""hermes approvals answer: allow or refuse a call, or answer a question of the agent."""

import hashlib
from typing import TYPE_CHECKING

from hermes.cli.approvals.grant_rows import LISTED_MAX, one
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.gateway.service.lock import held
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.core.errors import Rejected
from hermes.core.ids import MessageId, SessionId
from hermes.core.messages import Address, Inbound, Person
from hermes.views.open_questions import wants_words

if TYPE_CHECKING:
    from argparse import ArgumentParser


LATER = (
    "Your answer is saved. It counts when the gateway runs (hermes gateway start) or when you open "
    "the conversation: hermes --session {}"
)
WORDS = {
    "approve": "/approve {}",
    "session": "/approve {} session",
    "folder": "/approve {} folder",
    "always": "/approve {} always",
    "deny": "/deny {}",
}


class ApprovalsAnswerOptions(JsonOptions):
    id: str
    answer: str
    reason: list[str]


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the first characters of it")
    words = "approve, session, folder, always or deny; to a question of the agent, your own words"
    parser.add_argument("answer", help=words)
    parser.add_argument("reason", nargs="*", default=[], help="why not; the model reads it")
    json_option(parser)


async def run(options: ApprovalsAnswerOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        rows = await store.library.questions(limit=LISTED_MAX)
        row = one(rows, options.id, lambda each: each.id, "question")
        if row.state != "pending":
            by = f" by {row.decided_by}" if row.decided_by else ""
            raise Rejected(f"that question is closed: {row.state}{by}")
        said = " ".join((options.answer, *options.reason))
        if await wants_words(store.journal, row):
            text = f"/answer {row.id} {said}"
        elif options.answer in WORDS:
            text = f"{WORDS[options.answer].format(row.id)} {' '.join(options.reason)}".strip()
        else:
            raise UsageError(f"answer with one of: {', '.join(WORDS)}")
        inbound = Inbound(
            id=MessageId(f"{row.id}/{hashlib.sha256(said.encode()).hexdigest()[:16]}"),
            account="approvals",
            session=row.key,
            sender=Person(id="owner"),
            address=Address(platform="local", chat="approvals"),
            text=text,
            at=context.clock(),
        )
        await store.journal.accept(inbound, opens=SessionId(""))
    if options.json:
        context.console.document({"id": row.id, "answer": options.answer})
    else:
        context.console.say(f"{said}: {row.tool}, for {session_name(row.key)}")
        if not held(context.home):
            context.console.tell(LATER.format(session_name(row.key)))
    return DONE


COMMAND = CliCommand(
    options=ApprovalsAnswerOptions,
    run=run,
    arguments=_arguments,
    more="session allows similar calls until the conversation ends with /new; always allows "
    "them for 30 days. Both work only where the card offers them.",
)
