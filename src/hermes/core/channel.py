"""What the engine asks of channels and commands, and what they may ask of it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.events import Event
from hermes.core.ids import NodeId, ReplyId, SessionId, SessionKey
from hermes.core.messages import Address, Inbound, Media, Reply, Spent
from hermes.core.people import Role, Sender
from hermes.core.rules import Busy
from hermes.core.session import Session
from hermes.core.signals import Signal
from hermes.core.store import Accepted, Counts, MediaShelf, Store


class Manifest(Struct, frozen=True, kw_only=True):
    """What differs between channels, as data."""

    name: str
    text_chars_max: int = 1_000_000
    on_doubt: Literal["same_key", "look", "mark_repeat"] = "mark_repeat"  # what may have arrived
    fetched: bool = False  # people come for their replies; nothing is sent
    attended: bool = False  # a reply is sent only while somebody watches its session
    single: bool = False  # one connection in the world: the nodes agree on who has it
    tells_waiting: bool = False  # "your message waits" is said here
    banner: bool = False  # people are told before their work is interrupted by a stop
    pause_s: float = 0.0  # between two things that we do in one chat
    draft_s: float = 0.0  # between two looks of a draft; 0: no drafts
    hints: str = ""  # for the model: what can be shown here


class Channel(Protocol):
    """The side that sends."""

    @property
    def manifest(self) -> Manifest: ...

    def render(self, text: str) -> Sequence[str]:
        """Pure: the chunks in which the platform gets this text."""

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Returns the platform's receipt. `key` is the same for the same chunk, always."""


Known = Callable[[str], Awaitable[bool]]  # is this the receipt of some reply already?


class Screen(Protocol):
    """What some channels can do beside sending text. Raises as `send` does."""

    async def draft(self, address: Address, text: str) -> str:
        """Show a beginning of an answer; returns its receipt."""

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        """Put a rendered chunk in the place of what that receipt stands for. Doing it twice is
        doing it once. Raises ChannelRefused when that is gone."""

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        """A draft shows more now."""

    async def remove(self, address: Address, receipt: str) -> None:
        """Take a draft away. One that is gone already is no error."""

    async def typing(self, address: Address) -> None:
        """Somebody is at work."""

    async def attach(self, reply: Reply, media: Media, content: bytes, *, key: str) -> str:
        """Send a file; returns the receipt."""

    def end_of(self, address: Address) -> str:
        """Behind this receipt stands whatever is sent there from now on. Empty: nobody knows."""

    async def find(self, reply: Reply, chunks: Sequence[str], *, behind: str, known: Known) -> str:
        """The receipt of one of these chunks, if it is seen behind that one and is no other's."""


class Ear(Protocol):
    """The side that receives."""

    @property
    def manifest(self) -> Manifest: ...

    async def listen(self, door: "Door") -> None:
        """Receive until cancelled, and acknowledge to the platform only after `door.accept`
        returned. Raises ChannelDown when it must be begun anew, Misconfigured when that is
        pointless."""


class Feed(Protocol):
    """What happens, as it happens. A feed that is not read loses the oldest, and says so."""

    async def next(self) -> Signal: ...

    @property
    def missed(self) -> int:
        """How many signals were dropped since the last look."""


ChannelState = Literal["connecting", "connected", "waiting", "down"]
GatewayState = Literal["starting", "ready", "draining", "cut_off"]  # the last: from its store


class ChannelStatus(Struct, frozen=True, kw_only=True):
    """`waiting`: another node has the connection."""

    name: str
    state: ChannelState
    since: float
    last_inbound_at: float | None = None
    last_poll_at: float | None = None
    problem: str = ""


class Status(Struct, frozen=True, kw_only=True):
    """What a gateway knows of itself, for people and for monitors."""

    state: GatewayState
    version: str
    pid: int
    node: NodeId
    started_at: float
    resumes: bool  # false: three crashed boots in a row, so nothing is resumed by itself (C15)
    store: str
    channels: tuple[ChannelStatus, ...]
    running: int  # turns in this process
    counts: Counts
    memory_bytes: int


class Watching(Protocol):
    def __call__(
        self, key: SessionKey | None, /, *, live: bool = True
    ) -> AbstractContextManager[Feed]:
        """Of one session, or of all; with text as it is written, or only what is durable."""


class Door(Struct, frozen=True, kw_only=True):
    """What a channel may ask of the engine."""

    accept: Callable[[Inbound], Awaitable[Accepted]]  # durable when it returns; or Rejected
    role: Callable[[Sender], Awaitable[Role]]  # of who speaks, before anything is fetched for them
    knock: Callable[[Sender, str, str], Awaitable[str]]  # a stranger's name and words: what to say
    deliver: Callable[[SessionKey], Awaitable[None]]  # somebody watches this session now
    watch: Watching
    state: Callable[[], GatewayState]
    status: Callable[[], Awaitable[Status]]
    connected: Callable[[], None]  # the platform can be reached
    polled: Callable[[], None]  # it has been asked for news
    describe: Callable[[Media], Awaitable["Considered | None"]]  # an image in a few words
    store: Store
    media: MediaShelf
    commands: Sequence["Command"]
    new_id: Callable[[], str]
    clock: Callable[[], float]
    patient: Callable[[Sender], bool] = lambda _sender: True  # False: nothing is fetched for them


class Order(Struct, frozen=True, kw_only=True):
    """A command as it is being run: on which session, by which message."""

    session: Session
    inbound: Inbound
    argument: str
    at: float
    epoch: int
    reached: bool  # the running request has begun to be answered
    new_session: Callable[[], SessionId]
    role: Role = Role.OWNER  # of who gave it

    def reply(self, text: str, ordinal: int = 0) -> Reply:
        return Reply(
            id=ReplyId(f"{self.inbound.account}#{self.inbound.id}/{ordinal}"),
            session=self.session.key,
            address=self.inbound.address,
            text=text,
            kind="notice",
        )


class Obeyed(Struct, frozen=True, kw_only=True):
    """What a command made true, and what is said about it."""

    events: tuple[Event, ...] = ()
    replies: tuple[Reply, ...] = ()


class Considered(Struct, frozen=True, kw_only=True):
    """What the model for small things made of a text."""

    text: str
    spent: Spent


class Desk(Struct, frozen=True, kw_only=True):
    """What a command or a tool may look at, and the one way to reach another session: a message,
    whose id must be the same when a crash makes it be sent again."""

    store: Store
    media: MediaShelf
    accept: Callable[[Inbound], Awaitable[Accepted]]
    status: Callable[[], Awaitable[Status]]
    consider: Callable[[str, str, str], Awaitable[Considered]]  # purpose, task, text; or raises
    clock: Callable[[], float]


class Command(Struct, frozen=True, kw_only=True):
    """Declared once, the same everywhere. One that only decides has `run`; one that has to look
    something up first has `look`. A crash in between runs it again: what it does to another
    session must have the same id then."""

    name: str
    busy: Busy
    summary: str
    run: Callable[[Order], Obeyed] | None = None
    look: Callable[[Order, Desk], Awaitable[Obeyed]] | None = None
    argument: str = ""
    least: Role = Role.OWNER  # who may give it
