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


class Ears:
    """What happens to a reply at the moment of its delivery: it is shown, and only then noted as
    delivered, so that a chat which is killed in between leaves it for the next one."""

    def __init__(self) -> None:
        self.show: Callable[[Reply], None] = lambda _reply: None

    def hear(self, reply: Reply, _text: str) -> None:
        self.show(reply)


@dataclass(frozen=True, kw_only=True)
class Line:
    """An open engine and the lane that is spoken to."""

    app: App
    place: Place
    key: SessionKey
    ears: Ears

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
        await _deliver_left_over(line)
        media = [await app.media.put(*image) for image in images]
        inbound = line.inbound(text, media)
        accepted = await app.gateway.accept(inbound)
        async with _stoppable(line) as stop, live.following(app.store.journal, accepted.position):
            await app.gateway.settle(key)
            await stop.settled()
        outcome = await answered(app.store, inbound, accepted)
        printed = _Printed(place, outcome, said=live.said, json=given.json)
        line.ears.show = printed.show
        await app.gateway.deliver(key)
        printed.rest()
    return INTERRUPTED if stop.asked else _status(outcome)


async def _deliver_left_over(line: Line) -> None:
    """Answers that an earlier chat was killed before it could show."""
    console, first = line.place.console, [BEFORE]

    def show(reply: Reply) -> None:
        while first:
            console.tell(first.pop())
        console.tell(reply.text)

    line.ears.show = show
    await line.app.gateway.deliver(line.key)


class _Printed:
    """The answer on standard output, everything else beside it, each once."""

    def __init__(self, place: Place, outcome: Answered, *, said: Sequence[str], json: bool) -> None:
        self._place = place
        self._outcome = outcome
        self._said = said
        self._json = json
        self._others: list[Reply] = []
        self._open = list(outcome.replies)
        self._told = False

    def show(self, reply: Reply) -> None:
        if reply not in self._outcome.replies:
            self._others.append(reply)
            if not self._json and reply.text not in self._said:
                self._place.console.tell(reply.text)
            return
        if reply in self._open:
            self._open.remove(reply)
            self._print(reply)

    def rest(self) -> None:
        """What another chat of this lane has delivered is ours to show all the same."""
        for reply in self._open:
            self._print(reply)
        self._document()
        if self._outcome.state == "asking" and not self._json:
            name = called(self._outcome.key)
            answer = f"Answer with: hermes chat -q /approve --session {name} (or -q /deny)"
            self._place.console.tell(answer)

    def _print(self, reply: Reply) -> None:
        console = self._place.console
        if self._json:
            if not self._open:
                self._document()
        elif reply.kind == "question" or (
            reply.kind == "notice" and self._outcome.turn is not None
        ):
            console.stderr.write(f"hermes: {reply.text}\n")
        elif reply.text not in self._said:
            console.say(reply.text)

    def _document(self) -> None:
        if self._json and not self._told:
            self._told = True
            self._place.console.document(self._outcome.document(self._others))


async def _suspend(given: grammar.Named, place: Place) -> int:
    async with needed(place) as store:
        key = (await found(store, given.name)).key
    async with _line(place, key, lambda _signal: None) as line:
        inbound = line.inbound("/suspend")
        accepted = await line.app.gateway.accept(inbound)
        await line.app.gateway.settle(key)
        outcome = await answered(line.app.store, inbound, accepted)
        mine = outcome.replies
        line.ears.show = lambda reply: None if reply in mine else place.console.tell(reply.text)
        await line.app.gateway.deliver(key)
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
    ears = Ears()
    engine = opened(
        place.home,
        settings,
        show=ears.hear,
        emit=emit,
        workdir=Path.cwd(),
    )
    async with engine as app, app.gateway.joined():
        yield Line(app=app, place=place, key=key, ears=ears)


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


def _status(outcome: Answered) -> int:
    return DONE if outcome.state in ("answered", "done") else FAILED
