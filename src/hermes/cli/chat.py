"""hermes chat -q: one message through the front door, its answer on standard output.

The message is durable before anything is done about it, so a chat that is killed is taken up by
the next one; so is a stop by Ctrl+C, which is a message of its own. Where a gateway runs on this
home it does the work; where none does, the chat opens an engine of its own.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from hermes import app
from hermes.cli import logs
from hermes.cli.answer import Answered, Tale, answered
from hermes.cli.beside import PATIENCE_S, talked
from hermes.cli.errors import DONE, FAILED, INTERRUPTED, Usage
from hermes.cli.images import read_images
from hermes.cli.lanes import called, lane
from hermes.cli.live import Live
from hermes.cli.names import found
from hermes.cli.place import Place
from hermes.cli.printed import Document, Printed
from hermes.cli.sessions_grammar import Named
from hermes.cli.stored import needed
from hermes.cli.talk import Image, Stop, Talk, message
from hermes.cli.talk_grammar import Chat
from hermes.core.ids import SessionKey
from hermes.core.messages import Reply
from hermes.settings import Settings, prepare

TEXT_CHARS_MAX = 1_000_000  # read from a pipe; intake says what is too long for a message


def run(given: Chat, place: Place) -> int:
    text = _question(given, place)
    images = read_images(given.image)
    try:
        return asyncio.run(chat(given, place, text, images))
    except asyncio.CancelledError:  # Ctrl+C for the second time
        return INTERRUPTED


def run_suspend(given: Named, place: Place) -> int:
    return asyncio.run(_suspend(given, place))


async def chat(
    given: Chat,
    place: Place,
    text: str,
    images: Sequence[Image] = (),
    *,
    patience_s: float = PATIENCE_S,
) -> int:
    key = lane(given.session)
    talk = begun(
        place,
        key,
        text,
        live=Live(place.console, key, wanted=not given.json),
        document=Answered.document if given.json else None,
    )
    talk.images = images
    outcome = await _held(talk, patience_s)
    return INTERRUPTED if talk.stop.asked else _status(outcome)


def begun(
    place: Place,
    key: SessionKey,
    text: str,
    *,
    live: Live,
    document: Document | None = None,
    prefix: str = "",
) -> Talk:
    inbound = message(place, key, text)
    tale = Tale(inbound)
    printed = Printed(place.console, tale, said=live.said, document=document, prefix=prefix)
    return Talk(
        place=place,
        key=key,
        inbound=inbound,
        tale=tale,
        live=live,
        printed=printed,
        stop=Stop(place, key),
    )


async def _held(talk: Talk, patience_s: float = PATIENCE_S) -> Answered:
    """By way of a gateway as long as there is one, else with an engine of our own."""
    place = talk.place
    settings = place.settings()
    prepare(place.home)
    logs.begin(place.home, settings, place.environ)
    if not settings.terminal.workdir:
        talk.inbound = replace(talk.inbound, workdir=str(Path.cwd()))
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    talk.stop.arm(task.cancel)
    try:
        if not await talked(talk, lambda: app.beside(place.home), patience_s=patience_s):
            await _alone(talk, settings)
    finally:
        talk.stop.disarm()
    outcome = talk.printed.outcome
    assert outcome is not None, "a talk ends with its outcome"
    return outcome


async def _alone(talk: Talk, settings: Settings) -> None:
    key, place = talk.key, talk.place
    engine = app.opened(
        place.home, settings, show=talk.hear, emit=talk.live.emit, workdir=Path.cwd()
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
            await gateway.settle(key)
            if talk.stop.asked:
                await talk.stop.said()
                await gateway.settle(key)
        talk.tale.take(await journal.since(key, seen))
        talk.printed.outcome = await answered(here.store, key, talk.tale)
        await gateway.deliver(key)
        talk.printed.rest()


async def _suspend(given: Named, place: Place) -> int:
    async with needed(place) as store:
        key = (await found(store, given.name)).key
    talk = begun(
        place,
        key,
        "/suspend",
        live=Live(place.console, key, wanted=False),
        document=_suspended if given.json else None,
        prefix=f"{called(key)}: ",
    )
    await _held(talk)
    return DONE


def _suspended(outcome: Answered, _others: Sequence[Reply]) -> Mapping[str, object]:
    said = " ".join(reply.text for reply in outcome.replies)
    return {"session": outcome.key, "session_id": outcome.session_id, "text": said}


def _question(given: Chat, place: Place) -> str:
    """From -q, or from a pipe when -q says so or says nothing."""
    stdin = place.console.stdin
    text = given.query
    if text == "-" or (text is None and not stdin.isatty()):
        text = stdin.read(TEXT_CHARS_MAX).rstrip("\n")
    if text is None or (not text.strip() and not given.image):
        raise Usage('nothing was said. Say it with: hermes chat -q "TEXT"')
    return text


def _status(outcome: Answered) -> int:
    return DONE if outcome.state in ("answered", "done") else FAILED
