"""hermes send: send a message to a chat, through the outbox like every reply."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.app.application import App, sending
from hermes.app.platforms import known_platforms
from hermes.cli import log_file
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED, TRY_AGAIN, UsageError
from hermes.cli.gateway.service.lock import held
from hermes.cli.options import json_option
from hermes.core.directory import HOME, Target, relay, target_of
from hermes.core.messages import Inbound
from hermes.core.outbox import OutboxRow
from hermes.core.session import ref
from hermes.settings import prepare
from hermes.text.media_types import media_type_of
from hermes.text.similar import likely

if TYPE_CHECKING:
    from argparse import ArgumentParser


TEXT_CHARS_MAX = 100_000
CHATS_MAX = 1_000
WAIT_S, LOOK_S = 30.0, 0.1
ROWS_MAX = 50
OVER = ("delivered", "failed", "abandoned")


class SendOptions(JsonOptions):
    target: str
    text: list[str]
    file: list[str]


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("target", help="home, PLATFORM, PLATFORM:CHAT[:THREAD] or PLATFORM:NAME")
    parser.add_argument(
        "text", nargs="*", default=[], help="the message; “-” or nothing reads standard input"
    )
    parser.add_argument("--file", action="append", default=[], help="attach a file")
    json_option(parser)


def run(options: SendOptions, context: CliContext) -> int:
    text = " ".join(options.text)
    if text in ("", "-") and not (options.file and not text):
        text = context.console.stdin.read(TEXT_CHARS_MAX).strip()
    if not text and not options.file:
        raise UsageError('the message is empty. Use: hermes send TARGET "TEXT"')
    target, row = asyncio.run(send_text(context, options.target, text, options.file))
    return _report(options, context, target, row)


async def send_text(
    context: CliContext, to: str, text: str, files: Sequence[str] = ()
) -> tuple[Target, OutboxRow | None]:
    """Send a message and return where it went and its row in the outbox, None while it waits."""
    settings = context.settings()
    prepare(context.home)
    log_file.begin(context.home, settings, context.environ)
    async with sending(context.home, settings) as app, app.gateway.joined():
        _demand_platform(to, app)
        library = app.store.library
        chats = await library.chats(limit=CHATS_MAX)
        target = target_of(to, chats, await library.homes())
        inbound = await _message(files, context, app, target, text)
        await app.gateway.accept(inbound)
        return target, await _sent(app, inbound, alone=not held(context.home))


def _demand_platform(target: str, app: App) -> None:
    """Raise UsageError for an unknown platform. A typo would stay in the outbox for ever."""
    platform = target.strip().partition(":")[0]
    here = [
        name for name, each in app.gateway.delivery.channels.items() if not each.manifest.fetched
    ]
    if platform in (HOME, *here):
        return
    if platform in known_platforms():
        raise UsageError(f"{platform} is not set up here. Set it up with: hermes gateway setup")
    near = likely(platform, (HOME, *here, *known_platforms()))
    there = f"Did you mean {near[0]}?" if near else f"Choose one of: {', '.join((HOME, *here))}"
    raise UsageError(f"there is no platform “{platform}”. {there}")


async def _message(
    files: Sequence[str], context: CliContext, app: App, target: Target, text: str
) -> Inbound:
    media = []
    for name in files:
        try:
            content = await asyncio.to_thread(Path(name).read_bytes)
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror}") from error
        media.append(await app.media.put(content, media_type_of(name), Path(name).name))
    return relay(target, text, media, account="send", id_=app.new_id(), at=context.clock())


async def _sent(app: App, inbound: Inbound, *, alone: bool) -> OutboxRow | None:
    """Send the message: through the running gateway, else by this process."""
    await app.gateway.settle(inbound.session)
    if alone:
        await app.gateway.deliver(inbound.session)
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while True:
        rows = await app.store.outbox.rows(inbound.session, limit=ROWS_MAX)
        row = next((row for row in rows if row.reply.id.startswith(f"{ref(inbound)}/")), None)
        late = asyncio.get_running_loop().time() > deadline
        if alone or late or (row is not None and row.state in OVER):
            return row
        await asyncio.sleep(LOOK_S)


def _report(
    options: SendOptions, context: CliContext, target: Target, row: OutboxRow | None
) -> int:
    where = f"{target.address.platform}:{target.address.chat}"
    state = row.state if row is not None else "pending"
    receipt, problem = (row.receipt, row.problem) if row is not None else ("", "")
    if options.json:
        shown = {"target": where, "session": target.session, "state": state}
        context.console.document({**shown, "receipt": receipt or None, "problem": problem or None})
    elif state == "delivered":
        context.console.say(f"Sent to {where}.")
    elif state == "abandoned":
        context.console.tell(f"hermes: {where} refused the message: {problem}")
    else:
        why = f" ({problem})" if problem else ""
        context.console.tell(
            f"The message is stored and will be sent when {where} can be reached{why}."
        )
    if state == "delivered":
        return DONE
    return FAILED if state == "abandoned" else TRY_AGAIN


COMMAND = CliCommand(
    options=SendOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes send home "The build is done"
  hermes send telegram:12345 "On my way"
  make 2>&1 | tail | hermes send home -""",
)
