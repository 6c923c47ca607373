"""hermes chat -q: one message through the front door, its answer on standard output.

The message is durable before anything is done about it, so a chat that is killed is taken up by
the next one; so is a stop by Ctrl+C, which is a message of its own.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes.app import App, opened
from hermes.cli import grammar, logs
from hermes.cli.answer import Answered, answered
from hermes.cli.errors import DONE, FAILED, INTERRUPTED, Usage
from hermes.cli.images import read_images
from hermes.cli.live import Live
from hermes.cli.names import called, found, lane
from hermes.cli.place import Place
from hermes.cli.stored import needed
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound, Media, Person, Reply
from hermes.core.signals import Emit
from hermes.settings import prepare

TEXT_CHARS_MAX = 1_000_000  # read from a pipe; intake says what is too long for a message
BEFORE = "From before:"
STOPPING = "Stopping the turn. Ctrl+C again leaves at once."


@dataclass(frozen=True, kw_only=True)
class Line:
    """An open engine and the lane that is spoken to. `heard` fills with the replies."""

    app: App
    place: Place
    key: SessionKey
    heard: list[Reply]

    def inbound(self, text: str, media: Iterable[Media] = ()) -> Inbound:
        return Inbound(
            id=MessageId(self.app.new_id()),
            account="local",
            session=self.key,
            sender=Person(id="owner"),
            address=Address(platform="local", chat=called(self.key)),
            text=text,
            at=self.place.clock(),
            media=tuple(media),
        )


def run(given: grammar.Chat, place: Place) -> int:
    text = _question(given, place)
    images = read_images(given.image)
    try:
        return asyncio.run(_chat(given, place, text, images))
    except asyncio.CancelledError:  # Ctrl+C for the second time
        return INTERRUPTED


def run_suspend(given: grammar.Named, place: Place) -> int:
    return asyncio.run(_suspend(given, place))


async def _chat(
    given: grammar.Chat, place: Place, text: str, images: Sequence[tuple[bytes, str, str]]
) -> int:
    key = lane(given.session)
    live = Live(place.console, key, wanted=not given.json)
    async with _line(place, key, live.emit) as line:
        app = line.app
        await app.gateway.delivery.flush(only=key)
        before = len(line.heard)
        if before:
            place.console.tell(BEFORE)
            _tell_others(place, line.heard)
        media = [await app.media.put(*image) for image in images]
        inbound = line.inbound(text, media)
        accepted = await app.gateway.accept(inbound)
        async with _stoppable(line) as stop, live.following(app.store.journal, accepted.position):
            await app.gateway.settle(key)
            await stop.settled()
        outcome = await answered(app.store, inbound, accepted)
        others = [reply for reply in line.heard if reply not in outcome.replies]
        if given.json:
            place.console.document(outcome.document(others))
        else:
            _tell_others(place, [r for r in others[before:] if r.text not in live.said])
            _print(place, outcome, said=live.said)
    return INTERRUPTED if stop.asked else _status(outcome)


async def _suspend(given: grammar.Named, place: Place) -> int:
    async with needed(place) as store:
        key = (await found(store, given.name)).key
    async with _line(place, key, lambda _signal: None) as line:
        inbound = line.inbound("/suspend")
        accepted = await line.app.gateway.accept(inbound)
        await line.app.gateway.settle(key)
        outcome = await answered(line.app.store, inbound, accepted)
    _tell_others(place, [reply for reply in line.heard if reply not in outcome.replies])
    if given.json:
        said = " ".join(reply.text for reply in outcome.replies)
        place.console.document({"session": key, "session_id": outcome.session_id, "text": said})
        return DONE
    for reply in outcome.replies:
        place.console.say(f"{called(key)}: {reply.text}")
    return DONE


@asynccontextmanager
async def _line(place: Place, key: SessionKey, emit: Emit) -> AsyncIterator[Line]:
    settings = place.settings()
    prepare(place.home)
    logs.begin(place.home, settings, place.environ)
    heard: list[Reply] = []
    engine = opened(
        place.home,
        settings,
        show=lambda reply, _text: heard.append(reply),
        emit=emit,
        workdir=Path.cwd(),
    )
    async with engine as app, app.gateway.joined():
        yield Line(app=app, place=place, key=key, heard=heard)


class _Stop:
    """What Ctrl+C asked for, once."""

    def __init__(self, line: Line, leave: Callable[[], object]) -> None:
        self._line = line
        self._leave = leave
        self._sent: asyncio.Task[object] | None = None

    @property
    def asked(self) -> bool:
        return self._sent is not None

    def press(self) -> None:
        if self._sent is not None:
            self._leave()
            return
        self._line.place.console.tell(f"\n{STOPPING}")
        accept = self._line.app.gateway.accept(self._line.inbound("/stop"))
        self._sent = asyncio.get_running_loop().create_task(accept)

    async def settled(self) -> None:
        if self._sent is not None:
            await self._sent
            await self._line.app.gateway.settle(self._line.key)


@asynccontextmanager
async def _stoppable(line: Line) -> AsyncIterator[_Stop]:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    stop = _Stop(line, task.cancel)
    loop.add_signal_handler(signal.SIGINT, stop.press)
    try:
        yield stop
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _question(given: grammar.Chat, place: Place) -> str:
    """From -q, or from a pipe when -q says so or says nothing."""
    stdin = place.console.stdin
    text = given.query
    if text == "-" or (text is None and not stdin.isatty()):
        text = stdin.read(TEXT_CHARS_MAX).rstrip("\n")
    if text is None or (not text.strip() and not given.image):
        raise Usage('nothing was said. Say it with: hermes chat -q "TEXT"')
    return text


def _print(place: Place, outcome: Answered, *, said: Sequence[str]) -> None:
    """The answer is the result, unless it is on the screen already; why there is none is told."""
    for reply in outcome.replies:
        if reply.kind == "question" or (reply.kind == "notice" and outcome.turn is not None):
            place.console.stderr.write(f"hermes: {reply.text}\n")
        elif reply.text not in said:
            place.console.say(reply.text)
    if outcome.state == "asking":
        name = called(outcome.key)
        place.console.tell(f"Answer with: hermes chat -q /approve --session {name} (or -q /deny)")


def _tell_others(place: Place, replies: Sequence[Reply]) -> None:
    for reply in replies:
        place.console.tell(reply.text)


def _status(outcome: Answered) -> int:
    return DONE if outcome.state in ("answered", "done") else FAILED
