"""hermes turns list: list turns, the latest first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_session
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option, limit_option
from hermes.cli.output.times import ago
from hermes.cli.turns.rows import document, time_taken
from hermes.core.projection import TurnRow

if TYPE_CHECKING:
    from argparse import ArgumentParser


class TurnsListOptions(JsonOptions):
    limit: int
    session: str | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--session", metavar="NAME", help="only those of this session")
    limit_option(parser, "turns")
    json_option(parser)


async def run(options: TurnsListOptions, context: CliContext) -> int:
    turns: Sequence[TurnRow] = []
    async with open_existing_store(context) as store:
        if store is not None:
            key = (await find_session(store, options.session)).key if options.session else None
            turns = await store.library.turns(limit=options.limit, key=key)
    if options.json:
        context.console.document([document(turn) for turn in turns])
    elif not turns:
        context.console.tell("No turns yet. Start one: hermes chat -q hello")
    else:
        now = context.clock()
        cells = [
            (
                t.id,
                t.state,
                str(t.attempts),
                ago(t.started_at, now),
                time_taken(t),
                session_name(t.key),
            )
            for t in turns
        ]
        context.console.table(("TURN", "STATE", "RUNS", "STARTED", "TOOK", "SESSION"), cells)
    return DONE


COMMAND = CliCommand(
    options=TurnsListOptions,
    run=run,
    arguments=_arguments,
)
