"""hermes sessions search: find words in all conversations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option, limit_option
from hermes.cli.output.times import ago, iso
from hermes.cli.sessions.rows import SessionsListOptions
from hermes.core.recall import EVERYTHING, marked
from hermes.core.store import Found, Hit

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SessionsSearchOptions(SessionsListOptions):
    words: list[str]


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="all words must occur")
    limit_option(parser, "places")
    json_option(parser)


async def run(options: SessionsSearchOptions, context: CliContext) -> int:
    words = " ".join(options.words)
    async with open_existing_store(context) as store:
        found = Found()
        if store is not None:
            found = await store.library.search(words, scope=EVERYTHING, limit=options.limit)
    hits = found.hits
    for note in found.notes:
        context.console.tell(note)
    if options.json:
        context.console.document([_hit_document(hit) for hit in hits])
    elif not hits:
        context.console.tell(f"“{words}” was not found")
        return FAILED
    else:
        now = context.clock()
        cells = [
            (session_name(hit.key), ago(hit.at, now), hit.role, marked(hit.excerpt, hit.marks))
            for hit in hits
        ]
        context.console.table(("NAME", "WHEN", "ROLE", "WORDS"), cells)
    return DONE


def _hit_document(hit: Hit) -> Mapping[str, object]:
    return {
        "name": session_name(hit.key),
        "key": hit.key,
        "id": hit.id,
        "ordinal": hit.ordinal,
        "role": hit.role,
        "at": iso(hit.at),
        "sender": hit.sender,
        "excerpt": marked(hit.excerpt, hit.marks),
    }


COMMAND = CliCommand(
    options=SessionsSearchOptions,
    run=run,
    arguments=_arguments,
)
