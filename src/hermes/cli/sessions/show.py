"""hermes sessions show: print a conversation."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_conversation, find_session
from hermes.cli.lookup.store import load_session, open_required_store
from hermes.cli.options import json_option
from hermes.cli.output.times import ago
from hermes.cli.sessions.rows import UNREADABLE, document, name_argument, state
from hermes.cli.sessions.transcript import readable
from hermes.cli.sessions.transcript import row as plain_row
from hermes.core.events import Span
from hermes.core.session import Session
from hermes.text.plurals import counted

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SessionNameOptions(JsonOptions):
    name: str


class SessionsShowOptions(SessionNameOptions):
    full: bool


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    parser.add_argument("--full", action="store_true", help="show tool results in full")
    json_option(parser)


async def run(options: SessionsShowOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        session = await find_session(store, options.name)
        id_ = await find_conversation(store, session, options.name)
        lines = await store.journal.lines([Span(id_)])
        whole = await load_session(store, session.key)
    if options.json:
        messages = [plain_row(line) for line in lines]
        shown = {"session": document(session, whole), "id": id_, "messages": messages}
        context.console.document(shown)
        return DONE
    now = context.clock()
    last = ago(session.updated_at, now)
    count = counted(len(lines), "message")
    stands = state(session, whole)
    context.console.head(f"{session_name(session.key)}: {stands}, {count}, last {last}, id {id_}")
    if not isinstance(whole, Session):
        context.console.tell(UNREADABLE.format(session_name(session.key), whole))
    context.console.say("")
    for line in readable(lines, now=now, full=options.full):
        context.console.say(line)
    return DONE


COMMAND = CliCommand(
    options=SessionsShowOptions,
    run=run,
    arguments=_arguments,
)
