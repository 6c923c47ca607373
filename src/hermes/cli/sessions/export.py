"""hermes sessions export: write a conversation as a document.

Only stored content is written, so nothing that Hermes adds to a request can get into it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import msgspec

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_conversation, find_session
from hermes.cli.lookup.store import journal_of, load_session, open_required_store
from hermes.cli.output.files import saved
from hermes.cli.sessions.rows import UNREADABLE, document, name_argument
from hermes.cli.sessions.transcript import markdown, row
from hermes.core.codec import encode
from hermes.core.errors import RowUnreadable
from hermes.core.events import Event, Span
from hermes.core.session import Session
from hermes.core.store import SessionRow, Store

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SessionsExportOptions:
    name: str
    format: str
    events: bool
    output: str | None


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    parser.add_argument(
        "--format",
        choices=("markdown", "json", "jsonl"),
        default="markdown",
        help="markdown to read, json or jsonl to work with (default: markdown)",
    )
    parser.add_argument(
        "--events", action="store_true", help="the journal itself instead of messages (jsonl, json)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write it to a file that only you can read"
    )


def run(options: SessionsExportOptions, context: CliContext) -> int:
    if options.events and options.format == "markdown":
        raise UsageError(
            "the journal cannot be exported as Markdown. Add --format jsonl or --format json"
        )
    return asyncio.run(_export(options, context))


async def _export(options: SessionsExportOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        session = await find_session(store, options.name)
        text = "".join([piece async for piece in _pieces(options, store, session)])
        whole = await load_session(store, session.key)
    if not isinstance(whole, Session):
        context.console.tell(UNREADABLE.format(session_name(session.key), whole))
    if options.output is None:
        context.console.write(text)
    else:
        saved(options.output, text.encode())
        context.console.tell(f"Written to {options.output}")
    return DONE


def _event(position: int, event: Event | RowUnreadable) -> str:
    """Return the event as it is stored; for an unreadable one, a note that says so."""
    if not isinstance(event, RowUnreadable):
        return encode(event).decode()
    told = {"type": "unreadable", "position": position, "problem": str(event)}
    return msgspec.json.encode(told).decode()


async def _pieces(
    options: SessionsExportOptions, store: Store, session: SessionRow
) -> AsyncIterator[str]:
    if options.events:
        rows = [_event(*each) async for each in journal_of(store, session.key)]
    else:
        id_ = await find_conversation(store, session, options.name)
        lines = await store.journal.lines([Span(id_)])
        if options.format == "markdown":
            for part in markdown(session_name(session.key), lines):
                yield f"{part}\n"
            return
        rows = [msgspec.json.encode(row(line)).decode() for line in lines]
    if options.format == "jsonl":
        for each in rows:
            yield f"{each}\n"
        return
    name = "events" if options.events else "messages"
    shown = document(session, await load_session(store, session.key))
    head = msgspec.json.encode(shown).decode()
    whole = f'{{"session": {head}, "{name}": [{", ".join(rows)}]}}'
    yield msgspec.json.format(whole, indent=2) + "\n"


COMMAND = CliCommand(
    options=SessionsExportOptions,
    run=run,
    arguments=_arguments,
)
