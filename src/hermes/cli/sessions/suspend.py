"""hermes sessions suspend: suspend a conversation; the next message begins a new one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hermes.cli.chat.answer import MessageOutcome
from hermes.cli.chat.ask import begin_talk, hold
from hermes.cli.chat.live import LiveView
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_session
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.cli.sessions.rows import name_argument
from hermes.core.messages import Reply

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SessionsSuspendOptions(JsonOptions):
    name: str


def _arguments(parser: "ArgumentParser") -> None:
    name_argument(parser)
    json_option(parser)


async def run(options: SessionsSuspendOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        key = (await find_session(store, options.name)).key
    talk = begin_talk(
        context,
        key,
        "/suspend",
        live=LiveView(context.console, key, wanted=False),
        document=_suspended if options.json else None,
        prefix=f"{session_name(key)}: ",
    )
    await hold(talk)
    return DONE


def _suspended(outcome: MessageOutcome, _others: Sequence[Reply]) -> Mapping[str, object]:
    said = " ".join(reply.text for reply in outcome.replies)
    return {"session": outcome.key, "session_id": outcome.session_id, "text": said}


COMMAND = CliCommand(options=SessionsSuspendOptions, run=run, arguments=_arguments)
