"""hermes send: a message to a chat, through the outbox like everything else."""

import asyncio
from pathlib import Path

from hermes.app import App, sending
from hermes.cli import logs
from hermes.cli.errors import DONE, FAILED, TRY_AGAIN, Usage
from hermes.cli.place import Place
from hermes.cli.service.lock import held
from hermes.cli.talk_grammar import Send
from hermes.core.directory import Target, relay, target_of
from hermes.core.messages import Inbound
from hermes.core.session import ref
from hermes.core.store import OutboxRow
from hermes.settings import prepare
from hermes.views.rare import kind_of

TEXT_CHARS_MAX = 100_000
CHATS_MAX = 1_000
WAIT_S, LOOK_S = 30.0, 0.1
ROWS_MAX = 50
OVER = ("delivered", "failed", "abandoned")


def run(given: Send, place: Place) -> int:
    text = " ".join(given.text)
    if text in ("", "-") and not (given.file and not text):
        text = place.console.stdin.read(TEXT_CHARS_MAX).strip()
    if not text and not given.file:
        raise Usage('nothing was said. Say it with: hermes send TARGET "TEXT"')
    return asyncio.run(_send(given, place, text))


async def _send(given: Send, place: Place, text: str) -> int:
    settings = place.settings()
    prepare(place.home)
    logs.begin(place.home, settings, place.environ)
    async with sending(place.home, settings) as app, app.gateway.joined():
        library = app.store.library
        chats = await library.chats(limit=CHATS_MAX)
        target = target_of(given.target, chats, await library.homes())
        inbound = await _message(given, place, app, target, text)
        await app.gateway.accept(inbound)
        row = await _sent(app, inbound, alone=not held(place.home))
    return _told(given, place, target, row)


async def _message(given: Send, place: Place, app: App, target: Target, text: str) -> Inbound:
    media = []
    for name in given.file:
        try:
            content = await asyncio.to_thread(Path(name).read_bytes)
        except OSError as error:
            raise Usage(f"{name}: {error.strerror}") from error
        media.append(await app.media.put(content, kind_of(name), Path(name).name))
    return relay(target, text, media, account="send", id_=app.new_id(), at=place.clock())


async def _sent(app: App, inbound: Inbound, *, alone: bool) -> OutboxRow | None:
    """Where a gateway runs it sends; without one we do."""
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


def _told(given: Send, place: Place, target: Target, row: OutboxRow | None) -> int:
    where = f"{target.address.platform}:{target.address.chat}"
    state = row.state if row is not None else "pending"
    receipt, problem = (row.receipt, row.problem) if row is not None else ("", "")
    if given.json:
        shown = {"target": where, "session": target.session, "state": state}
        place.console.document({**shown, "receipt": receipt or None, "problem": problem or None})
    elif state == "delivered":
        place.console.say(f"Sent to {where}.")
    elif state == "abandoned":
        place.console.tell(f"hermes: {where} does not take it: {problem}")
    else:
        why = f" ({problem})" if problem else ""
        place.console.tell(f"It is kept, and sent as soon as {where} can be reached{why}.")
    if state == "delivered":
        return DONE
    return FAILED if state == "abandoned" else TRY_AGAIN
