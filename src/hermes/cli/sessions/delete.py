"""hermes sessions delete: delete a session and everything in it, permanently."""

import shutil
from typing import TYPE_CHECKING

from hermes.app.engine import new_id
from hermes.app.storage import SCRATCH
from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED, UsageError
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_session
from hermes.cli.lookup.store import open_required_store
from hermes.cli.sessions.rows import name_argument
from hermes.core.child_sessions import stop_message
from hermes.core.ids import SessionId
from hermes.core.session import scratch_name
from hermes.text.plurals import counted
from hermes.views.families import children_of

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SessionsDeleteOptions:
    name: str
    yes: bool


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask first")


async def run(options: SessionsDeleteOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        session = await find_session(store, options.name)
        name = session_name(session.key)
        if not options.yes and not _confirm(
            context, f"Delete {name} with {counted(session.rows, 'message')}?"
        ):
            context.console.tell("Nothing was deleted")
            return FAILED
        children = await children_of(store, session.key)
        await store.library.delete(session.key)
        for child in children:  # they would work for a session that is gone
            stop = stop_message(child, f"{child}/deleted", context.clock())
            await store.journal.accept(stop, opens=SessionId(new_id()))
    scratch = context.home / SCRATCH / scratch_name(session.key, session.id)
    shutil.rmtree(scratch, ignore_errors=True)
    context.console.say(f"Deleted {name}")
    return DONE


def _confirm(context: CliContext, question: str) -> bool:
    if not context.console.stdin.isatty():
        raise UsageError("there is no terminal to ask. Add --yes to delete without a question")
    context.console.stderr.write(f"{question} [y/N] ")
    context.console.stderr.flush()
    return context.console.stdin.readline().strip().lower() in ("y", "yes")


COMMAND = CliCommand(
    options=SessionsDeleteOptions,
    run=run,
    arguments=_arguments,
)
