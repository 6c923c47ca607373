"""hermes sessions export: a conversation as a document of its own.

Only what is stored is written, so nothing that Hermes adds to a request can get into it.
"""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from hermes.cli import sessions_grammar as grammar
from hermes.cli.errors import DONE, Usage
from hermes.cli.files import saved
from hermes.cli.lanes import called
from hermes.cli.names import conversation, found
from hermes.cli.place import Place
from hermes.cli.sessions import document
from hermes.cli.stored import events_of, needed
from hermes.cli.transcript import markdown, row
from hermes.core.codec import encode
from hermes.core.events import Span
from hermes.core.store import SessionRow, Store


def run(given: grammar.Export, place: Place) -> int:
    if given.events and given.format == "markdown":
        raise Usage("the journal is no text to read. Add --format jsonl or --format json")
    return asyncio.run(_export(given, place))


async def _export(given: grammar.Export, place: Place) -> int:
    async with needed(place) as store:
        session = await found(store, given.name)
        text = "".join([piece async for piece in _pieces(given, store, session)])
    if given.output is None:
        place.console.write(text)
    else:
        saved(given.output, text.encode())
        place.console.tell(f"Written to {given.output}")
    return DONE


async def _pieces(given: grammar.Export, store: Store, session: SessionRow) -> AsyncIterator[str]:
    if given.events:
        rows = [encode(event).decode() async for event in events_of(store, session.key)]
    else:
        id_ = await conversation(store, session, given.name)
        lines = await store.journal.lines([Span(id_)])
        if given.format == "markdown":
            for part in markdown(called(session.key), lines):
                yield f"{part}\n"
            return
        rows = [msgspec.json.encode(row(line)).decode() for line in lines]
    if given.format == "jsonl":
        for each in rows:
            yield f"{each}\n"
        return
    name = "events" if given.events else "messages"
    head = msgspec.json.encode(document(session)).decode()
    whole = f'{{"session": {head}, "{name}": [{", ".join(rows)}]}}'
    yield msgspec.json.format(whole, indent=2) + "\n"
