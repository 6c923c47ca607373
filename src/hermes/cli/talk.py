"""One message that a person says at a terminal, on its way to its answer; and Ctrl+C meanwhile."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.cli.answer import Tale
from hermes.cli.lanes import called
from hermes.cli.live import Live
from hermes.cli.place import Place
from hermes.cli.printed import Printed
from hermes.core.errors import ChannelDown
from hermes.core.events import Event
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.store import Accepted, MediaShelf
from hermes.engine import new_id

STOPPING = "Stopping the turn. Ctrl+C again leaves at once."

Image = tuple[bytes, str, str]


def message(place: Place, key: SessionKey, text: str) -> Inbound:
    return Inbound(
        id=MessageId(new_id()),
        account="local",
        session=key,
        sender=Person(id="owner"),
        address=Address(platform="local", chat=called(key)),
        text=text,
        at=place.clock(),
    )


@dataclass(kw_only=True)
class Talk:
    """What stays the same when the way to the engine breaks and another one is found."""

    place: Place
    key: SessionKey
    inbound: Inbound
    tale: Tale
    live: Live
    printed: Printed
    stop: "Stop"
    images: Sequence[Image] = ()
    position: int | None = None  # how far the journal has been seen
    head: int | None = None  # what stands behind it happens now
    accepted: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def pack(self, media: MediaShelf) -> None:
        """The pictures go along, under their digests."""
        if self.images:
            put = [await media.put(*image) for image in self.images]
            self.inbound = replace(self.inbound, media=tuple(put))

    def join(self) -> None:
        """Another process runs the session from here on."""
        self.head = None
        self.live.join()

    def follows(self, head: int) -> None:
        """It is followed, and stands there now."""
        self.head = head
        self.position = head if self.position is None else self.position

    def take(self, events: Iterable[Event], position: int) -> None:
        """These stand in the journal, up to this position."""
        events = tuple(events)
        self.position = max(position, self.position or 0)
        self.live.take(events, fresh=self.head is not None and position > self.head)
        self.tale.take(events)
        self.stop.take(events)
        if self.tale.over and self.stop.over:
            self.over.set()

    def hear(self, reply: Reply, text: str) -> None:
        self.live.aside()
        self.printed.show(replace(reply, text=text))


class Stop:
    """What Ctrl+C asked for, once. It is a message of its own, said by the way that there is."""

    def __init__(self, place: Place, key: SessionKey) -> None:
        self._place = place
        self._key = key
        self._say: Callable[[Inbound], Awaitable[Accepted]] | None = None
        self._leave: Callable[[], object] = lambda: None
        self._saying: asyncio.Task[None] | None = None
        self._inbound: Inbound | None = None
        self._tale: Tale | None = None

    @property
    def asked(self) -> bool:
        return self._inbound is not None

    @property
    def over(self) -> bool:
        return self._tale is None or self._tale.over

    def arm(self, leave: Callable[[], object]) -> None:
        """Once there is a way to say it, Ctrl+C is ours; for the second time it is `leave`."""
        self._leave = leave

    def disarm(self) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    def by(self, say: Callable[[Inbound], Awaitable[Accepted]] | None) -> None:
        """This is the way to say it now; it is said again by a new way, under the same id."""
        self._say = say
        if say is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.press)
        self._begin()

    def press(self) -> None:
        if self.asked:
            self._leave()
            return
        self._place.console.tell(f"\n{STOPPING}")
        self._inbound = message(self._place, self._key, "/stop")
        self._tale = Tale(self._inbound)
        self._begin()

    def take(self, events: Iterable[Event]) -> None:
        if self._tale is not None:
            self._tale.take(events)

    async def said(self) -> None:
        if self._saying is not None:
            await self._saying

    def _begin(self) -> None:
        if self._say is not None and self._inbound is not None:
            self._saying = asyncio.ensure_future(self._said(self._say, self._inbound))

    async def _said(self, say: Callable[[Inbound], Awaitable[Accepted]], inbound: Inbound) -> None:
        with suppress(ChannelDown):  # the way broke; it is said by the next one
            await say(inbound)
