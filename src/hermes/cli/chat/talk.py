"""One message from a terminal, until it is answered; and Ctrl+C in that time."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.app.engine import new_id
from hermes.cli.chat.answer import ReplyTracker
from hermes.cli.chat.attachments import Image
from hermes.cli.chat.live import LiveView
from hermes.cli.chat.open_question import FindQuestion, OpenQuestion, ask_at_terminal
from hermes.cli.chat.printed import ReplyPrinter
from hermes.cli.context import CliContext
from hermes.cli.lookup.session_keys import session_name
from hermes.core.errors import ChannelDown
from hermes.core.events import Event
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.store import Accepted, MediaStore

STOPPING = "Stopping the turn. Ctrl+C again leaves at once."


def message(context: CliContext, key: SessionKey, text: str) -> Inbound:
    return Inbound(
        id=MessageId(new_id()),
        account="local",
        session=key,
        sender=Person(id="owner"),
        address=Address(platform="local", chat=session_name(key)),
        text=text,
        at=context.clock(),
    )


async def _no_question() -> OpenQuestion | None:
    return None


@dataclass(kw_only=True)
class Talk:
    """The state of one exchange that survives a change of connection to the engine."""

    context: CliContext
    key: SessionKey
    inbound: Inbound
    tracker: ReplyTracker
    live: LiveView
    printed: ReplyPrinter
    stop: "StopRequest"
    images: Sequence[Image] = ()
    position: int | None = None  # how far the journal has been seen
    head: int | None = None  # what stands behind it happens now
    accepted: bool = False
    asks: bool = False  # a question is put to the person at this terminal
    left: bool = False  # by Ctrl+C, at such a question
    find: FindQuestion = _no_question  # the question that the session waits with
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def pack(self, media: MediaStore) -> None:
        """Store the pictures and attach them by their digests."""
        if self.images:
            put = [await media.put(*image) for image in self.images]
            self.inbound = replace(self.inbound, media=tuple(put))

    def join(self) -> None:
        """Note that another process runs the session from here on."""
        self.head = None
        self.live.join()

    def follows(self, head: int) -> None:
        """Note that the session is followed from this position."""
        self.head = head
        self.position = head if self.position is None else self.position

    def take(self, events: Iterable[Event], position: int) -> None:
        """Take events from the journal, up to this position."""
        events = tuple(events)
        self.position = max(position, self.position or 0)
        self.live.take(events, fresh=self.head is not None and position > self.head)
        self.tracker.take(events)
        self.stop.take(events)
        if self.tracker.over and self.stop.over:
            self.over.set()

    async def question(self) -> OpenQuestion | None:
        """Return the question that the message waits for, as long as it is not finished."""
        if self.tracker.finished or self.stop.asked:
            return None
        return await self.find()

    async def ask(self, question: OpenQuestion) -> Inbound | None:
        """Ask the person at this terminal. Return the message with the answer, or None."""
        with self.live.paused():
            self.printed.card(question.card)
            answer = await ask_at_terminal(self.context.console, question, self.find)
        self.left = answer.how == "left"
        self.asks = answer.how in ("said", "settled")
        return message(self.context, self.key, answer.said) if answer.said else None

    def hear(self, reply: Reply, text: str) -> None:
        self.live.aside()
        self.printed.show(replace(reply, text=text))


class StopRequest:
    """The stop that Ctrl+C asks for: a message, sent once over the current connection."""

    def __init__(self, context: CliContext, key: SessionKey) -> None:
        self._context = context
        self._key = key
        self._say: Callable[[Inbound], Awaitable[Accepted]] | None = None
        self._leave: Callable[[], object] = lambda: None
        self._saying: asyncio.Task[None] | None = None
        self._inbound: Inbound | None = None
        self._tracker: ReplyTracker | None = None

    @property
    def asked(self) -> bool:
        return self._inbound is not None

    @property
    def over(self) -> bool:
        return self._tracker is None or self._tracker.over

    def arm(self, leave: Callable[[], object]) -> None:
        """Handle Ctrl+C from now on: the first one stops the turn, the second calls `leave`."""
        self._leave = leave

    def disarm(self) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    def by(self, say: Callable[[Inbound], Awaitable[Accepted]] | None) -> None:
        """Set the current connection. A stop is sent again over a new one, under the same id."""
        self._say = say
        if say is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.press)
        self._begin()

    def press(self) -> None:
        if self.asked:
            self._leave()
            return
        self._context.console.tell(f"\n{STOPPING}")
        self._inbound = message(self._context, self._key, "/stop")
        self._tracker = ReplyTracker(self._inbound)
        self._begin()

    def take(self, events: Iterable[Event]) -> None:
        if self._tracker is not None:
            self._tracker.take(events)

    async def wait_sent(self) -> None:
        if self._saying is not None:
            await self._saying

    def _begin(self) -> None:
        if self._say is not None and self._inbound is not None:
            self._saying = asyncio.ensure_future(self._send(self._say, self._inbound))

    async def _send(self, say: Callable[[Inbound], Awaitable[Accepted]], inbound: Inbound) -> None:
        with suppress(ChannelDown):  # the way broke; it is said by the next one
            await say(inbound)
