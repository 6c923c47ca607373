"""hermes sessions list: list conversations, the latest first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import load_session, open_existing_store
from hermes.cli.options import json_option, limit_option
from hermes.cli.output.times import ago
from hermes.cli.sessions.rows import SessionsListOptions, document, state
from hermes.core.child_sessions import CHILD
from hermes.core.ids import platform_of
from hermes.core.store import SessionRow, Store

if TYPE_CHECKING:
    from argparse import ArgumentParser


LOOKED_AT = 20  # times as many as are listed: some are of subagents
NONE_YET = "No conversations yet. Start one: hermes chat -q hello"


def _arguments(parser: "ArgumentParser") -> None:
    limit_option(parser, "sessions")
    parser.add_argument(
        "--children", action="store_true", help="also the sessions of subagents and scripts"
    )
    json_option(parser)


async def run(options: SessionsListOptions, context: CliContext) -> int:
    async with open_existing_store(context) as store:
        rows = await _rows(store, options) if store is not None else []
        whole = [await load_session(store, each.key) for each in rows] if store is not None else []
        rows = [await _with_title(store, row) for row in rows] if store is not None else []
    if options.json:
        context.console.document([document(*each) for each in zip(rows, whole, strict=True)])
    elif not rows:
        context.console.tell(NONE_YET)
    else:
        now = context.clock()
        cells = [
            (
                session_name(row.key),
                state(row, it),
                str(row.rows),
                ago(row.updated_at, now),
                row.title,
            )
            for row, it in zip(rows, whole, strict=True)
        ]
        context.console.table(("NAME", "STATE", "MESSAGES", "LAST", "TITLE"), cells)
    return DONE


async def _rows(store: Store, options: SessionsListOptions) -> Sequence[SessionRow]:
    """Sessions that work for others are many and short: they are listed on request."""
    most = options.limit if options.children else options.limit * LOOKED_AT
    rows = await store.library.sessions(limit=most)
    wanted = [row for row in rows if options.children or platform_of(row.key) != CHILD]
    return wanted[: options.limit]


async def _with_title(store: Store, row: SessionRow) -> SessionRow:
    """Return the row with its first words as a title, if it has none."""
    if row.title:
        return row
    latest = await store.library.conversations(row.key, limit=1)
    opening = next((each.opening for each in latest if each.id == row.id), "")
    return replace(row, title=opening)


COMMAND = CliCommand(
    options=SessionsListOptions,
    run=run,
    arguments=_arguments,
)
