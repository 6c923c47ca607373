"""Send one message and print its answer on standard output.

The message is durable before any work starts, so the next chat continues one that was killed; a
stop by Ctrl+C is a durable message, too. If a gateway runs on this home it does the work, else the
chat opens an engine of its own.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from msgspec.structs import replace

from hermes.app import application as app
from hermes.app.engine import new_id
from hermes.cli import log_file
from hermes.cli.chat.answer import MessageOutcome, ReplyTracker, answered
from hermes.cli.chat.attached import PATIENCE_S, talk_through_gateway
from hermes.cli.chat.attachments import Image, read_attachments
from hermes.cli.chat.chat import ChatOptions
from hermes.cli.chat.live import LiveView
from hermes.cli.chat.open_question import OpenQuestion, can_ask, open_question
from hermes.cli.chat.printed import Document, ReplyPrinter
from hermes.cli.chat.talk import StopRequest, Talk, message
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED, INTERRUPTED, TRY_AGAIN, UsageError
from hermes.cli.lookup.session_keys import LOCAL, parse_session_key
from hermes.cli.lookup.store import open_existing_store
from hermes.core.ids import SessionKey
from hermes.core.store import ConversationRow
from hermes.settings import Settings, prepare

LOOKED_AT = 50  # conversations, for the one of a terminal that was used last
NAME_CHARS = 8  # of chance, in the name of a conversation that was given none
TEXT_CHARS_MAX = 1_000_000  # read from a pipe; intake says what is too long for a message


def run(options: ChatOptions, context: CliContext) -> int:
    texts, images = read_attachments(options.file, options.image)
    text = "\n\n".join((*_message_text(options, context), *texts))
    try:
        return asyncio.run(ask(options, context, text, images))
    except asyncio.CancelledError:  # Ctrl+C for the second time
        return INTERRUPTED


async def ask(
    options: ChatOptions,
    context: CliContext,
    text: str,
    images: Sequence[Image] = (),
    *,
    patience_s: float = PATIENCE_S,
) -> int:
    key = await _conversation(options, context)
    talk = begin_talk(
        context,
        key,
        text,
        live=LiveView(context.console, key, wanted=not options.json),
        document=MessageOutcome.document if options.json else None,
    )
    talk.images = images
    talk.asks = not options.json and can_ask(context.console)
    outcome = await hold(talk, patience_s)
    return INTERRUPTED if talk.stop.asked or talk.left else _status(outcome)


def begin_talk(
    context: CliContext,
    key: SessionKey,
    text: str,
    *,
    live: LiveView,
    document: Document | None = None,
    prefix: str = "",
) -> Talk:
    inbound = message(context, key, text)
    tracker = ReplyTracker(inbound)
    printed = ReplyPrinter(
        context.console, tracker, said=live.said, document=document, prefix=prefix
    )
    return Talk(
        context=context,
        key=key,
        inbound=inbound,
        tracker=tracker,
        live=live,
        printed=printed,
        stop=StopRequest(context, key),
    )


async def hold(talk: Talk, patience_s: float = PATIENCE_S) -> MessageOutcome:
    """Send the message through the gateway while there is one, else through an engine of our
    own."""
    context = talk.context
    settings = context.settings()
    prepare(context.home)
    log_file.begin(context.home, settings, context.environ)
    if not settings.terminal.workdir:
        talk.inbound = replace(talk.inbound, workdir=str(Path.cwd()))
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    talk.stop.arm(task.cancel)
    talk.find = lambda: _looked_up(context.home, settings, talk.key)
    try:
        if not await talk_through_gateway(
            talk, lambda: app.beside(context.home), patience_s=patience_s
        ):
            await _alone(talk, settings)
    finally:
        talk.stop.disarm()
    outcome = talk.printed.outcome
    assert outcome is not None, "a talk ends with its outcome"
    return outcome


async def _alone(talk: Talk, settings: Settings) -> None:
    key, context = talk.key, talk.context
    engine = app.opened(
        context.home, settings, show=talk.hear, emit=talk.live.emit, workdir=Path.cwd()
    )
    async with engine as here, here.gateway.joined():
        gateway, journal = here.gateway, here.store.journal
        if not talk.accepted:
            await gateway.deliver(key)  # what an earlier chat was killed before it could show
            await talk.pack(here.media)
            talk.printed.early = False
        accepted = await gateway.accept(talk.inbound)
        seen = max(accepted.position, talk.position or 0)
        talk.stop.by(gateway.accept)
        async with talk.live.following(journal, seen):
            question = await _settle(talk, here, seen)
        talk.printed.outcome = await answered(here.store, key, talk.tracker, question)
        await gateway.deliver(key)
        talk.printed.rest()


async def _settle(talk: Talk, here: app.App, seen: int) -> OpenQuestion | None:
    """Wait until the message is handled, or a question remains that cannot be answered here. Return
    that question."""
    gateway, key = here.gateway, talk.key

    async def find() -> OpenQuestion | None:
        await gateway.settle(key)
        return await open_question(here.store, key)

    talk.find = find
    while True:
        await gateway.settle(key)
        if talk.stop.asked:
            await talk.stop.wait_sent()
            await gateway.settle(key)
        events = await here.store.journal.since(key, seen)
        talk.tracker.take(events)
        seen += len(events)
        question = await talk.question()
        if question is None or not talk.asks:
            return question
        await gateway.deliver(key)
        answer = await talk.ask(question)
        if answer is not None:
            await gateway.accept(answer)
        talk.stop.by(gateway.accept)


async def _looked_up(home: Path, settings: Settings, key: SessionKey) -> OpenQuestion | None:
    async with app.store_only(home, settings) as store:
        return await open_question(store, key)


async def _conversation(options: ChatOptions, context: CliContext) -> SessionKey:
    """Return the named session; with -c the terminal session used last; else a new one."""
    if options.session is not None:
        return parse_session_key(options.session)
    rows: Sequence[ConversationRow] = ()
    if options.latest:
        async with open_existing_store(context) as store:
            rows = await store.library.conversations(None, limit=LOOKED_AT) if store else ()
    used = [row.key for row in rows if row.key.startswith(LOCAL)]
    return used[0] if used else parse_session_key(f"chat-{new_id()[-NAME_CHARS:]}")


def _message_text(options: ChatOptions, context: CliContext) -> Sequence[str]:
    """Return the message: the words or -q; standard input when -q is “-” or nothing else is given.
    It may be empty when files are attached."""
    words, query, stdin = " ".join(options.text), options.query, context.console.stdin
    if words and query is not None:
        whole = f"{query} {words}"
        raise UsageError(f"put the whole message into quotes: hermes chat -q {quote(whole)}")
    attached = bool(options.file or options.image)
    if query == "-" or (not options.text and query is None and not attached and not stdin.isatty()):
        words = stdin.read(TEXT_CHARS_MAX).rstrip("\n")
    elif query is not None:
        words = query
    if not words.strip() and not attached:
        raise UsageError('the message is empty. Use: hermes chat -q "TEXT"')
    return (words,) if words.strip() else ()


def _status(outcome: MessageOutcome) -> int:
    if outcome.question is not None:
        return TRY_AGAIN
    return DONE if outcome.state in ("answered", "done") else FAILED
