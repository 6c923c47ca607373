"""What the engine asks of channels and commands, and what they may ask of it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.events import Event
from hermes.core.ids import MessageId, NodeId, ReplyId, SessionId, SessionKey
from hermes.core.messages import Address, Inbound, Media, Reply, Spent
from hermes.core.people import Role, Sender
from hermes.core.principal import Audience, AudienceOf
from hermes.core.rules import Busy
from hermes.core.session import Session
from hermes.core.signals import Signal
from hermes.core.store import Accepted, Counts, MediaStore, Store


class ButtonLimits(Struct, frozen=True, kw_only=True):
    rows: int
    per_row: int
    label_chars: int
    value_bytes: int


class Manifest(Struct, frozen=True, kw_only=True):
    """What differs between channels, as data."""

    name: str
    audience: Audience = "people"
    text_chars_max: int = 1_000_000
    on_doubt: Literal["same_key", "look", "mark_repeat"] = "mark_repeat"  # what may have arrived
    fetched: bool = False  # people come for their replies; nothing is sent
    attended: bool = False  # a reply is sent only while somebody watches its session
    single: bool = False  # one connection in the world: the nodes agree on who has it
    tells_waiting: bool = False  # "your message waits" is said here
    banner: bool = False  # people are told before their work is interrupted by a stop
    pause_s: float = 0.0  # between two things that we do in one chat
    draft_s: float = 0.0  # between two looks of a draft; 0: no drafts
    chats: bool = True  # False: what is sent is read by no person
    hints: str = ""  # for the model: what can be shown here
    ack_s: float = 0.0  # how soon the platform wants its yes; 0: it waits
    key_s: float = 0.0  # how long it remembers a key; 0: for ever
    edits: bool = False  # a message can be changed
    typing_s: float = 0.0  # how long a sign of typing lasts; 0: there is none
    reactions: bool = False  # a message can get a small sign
    receipts: bool = False  # and does, when it is stored
    buttons: ButtonLimits | None = None
    file_bytes_max: int = 0  # of one file that we send; 0: no limit is known
    threads: bool = False
    window_s: float = 0.0  # how long after a person's message we may write; 0: any time


def audience_in(manifests: Iterable[Manifest]) -> AudienceOf:
    """Return who speaks where. No person speaks on a platform that is not there."""
    known = {manifest.name: manifest.audience for manifest in manifests}
    return lambda platform: known.get(platform, "unattended")


NO_PERSON = audience_in(())


class Channel(Protocol):
    """The side that sends."""

    @property
    def manifest(self) -> Manifest: ...

    def render(self, text: str) -> Sequence[str]:
        """Pure: the chunks in which the platform gets this text."""

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Returns the platform's receipt. `key` is the same for the same chunk, always."""


IsReceipt = Callable[[str], Awaitable[bool]]  # is this the receipt of some reply already?


class Screen(Protocol):
    """What some channels can do beside sending text. Raises as `send` does."""

    async def draft(self, address: Address, text: str) -> str:
        """Show a beginning of an answer; returns its receipt."""

    def draft_text(self, text: str) -> str:
        """Pure: what `draft` shows for this text."""

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        """Put a rendered chunk in the place of what that receipt stands for. Doing it twice is
        doing it once. Raises ChannelRefused when that is gone."""

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        """A draft shows more now."""

    async def remove(self, address: Address, receipt: str) -> None:
        """Take a draft away. One that is gone already is no error."""

    async def typing(self, address: Address) -> None:
        """Somebody is at work."""

    async def react(self, address: Address, message: MessageId, sign: str) -> None:
        """Put a small sign on a person's message, or take it away with an empty one."""

    async def attach(
        self, reply: Reply, media: Media, content: bytes, *, key: str, caption: str = ""
    ) -> str:
        """Send a file; returns the receipt. The caption is plain text, shown with it."""

    def end_of(self, address: Address) -> str:
        """Behind this receipt stands whatever is sent there from now on. Empty: nobody knows."""

    async def find(
        self, address: Address, chunks: Sequence[str], *, behind: str, known: IsReceipt
    ) -> str:
        """The receipt of one of these chunks, if it is seen behind that one and is no other's."""

    async def find_file(
        self, address: Address, media: Media, size: int, *, key: str, behind: str, known: IsReceipt
    ) -> str:
        """Likewise of a file: by the key, or the name and size, that the platform shows of it. A
        file that cannot be told from another one is not found."""


class Receiver(Protocol):
    """The side that receives."""

    @property
    def manifest(self) -> Manifest: ...

    async def listen(self, host: "ChannelHost", /) -> None:
        """Receive until cancelled, and acknowledge to the platform only after `host.accept`
        returned. Raises ChannelDown when it must be started again, Misconfigured when that is
        pointless."""


class Feed(Protocol):
    """What happens, as it happens. A feed that is not read loses the oldest, and says so."""

    async def next(self) -> Signal: ...

    @property
    def missed(self) -> int:
        """How many signals were dropped since the last look."""


ChannelState = Literal["connecting", "connected", "failing", "waiting", "down"]
# `cut_off`: from its store. `unwritable`: nothing can be stored.
GatewayState = Literal["starting", "ready", "draining", "cut_off", "unwritable"]


class ChannelStatus(Struct, frozen=True, kw_only=True):
    """`waiting`: another node has the connection. `failing`: it is heard, and does not take what
    we send."""

    name: str
    state: ChannelState
    since: float
    last_inbound_at: float | None = None
    last_poll_at: float | None = None
    problem: str = ""


ServiceState = Literal["starting", "running", "down"]


class ServiceStatus(Struct, frozen=True, kw_only=True):
    name: str
    state: ServiceState
    since: float
    problem: str = ""


class GatewayStatus(Struct, frozen=True, kw_only=True):
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
    problem: str = ""  # why nothing can be stored
    services: tuple[ServiceStatus, ...] = ()


class ServiceHost(Protocol):
    """What a service may ask of the engine."""

    @property
    def store(self) -> Store: ...

    async def accept(self, inbound: Inbound) -> Accepted:
        """Store a message. Durable when this returns; raises Rejected for one that is refused."""

    def watch(
        self, key: SessionKey | None, /, *, live: bool = True
    ) -> AbstractContextManager[Feed]:
        """Follow one session, or all; with text as it is written, or only what is durable."""

    def state(self) -> GatewayState: ...

    def connected(self) -> None:
        """Note that the platform can be reached, or that the service works."""

    def new_id(self) -> str: ...

    def clock(self) -> float: ...

    async def hold(self, name: str) -> bool:
        """Take, or keep, what only one living node may have. See `Nodes.hold`."""

    def audience(self, platform: str, /) -> Audience:
        """Who speaks on this platform."""


class ChannelHost(ServiceHost, Protocol):
    """What a channel may ask of the engine."""

    @property
    def media(self) -> MediaStore: ...

    @property
    def commands(self) -> Sequence["Command"]: ...

    async def role(self, sender: Sender) -> Role:
        """Who speaks? A channel asks before it fetches anything for them."""

    def patient(self, sender: Sender) -> bool:
        """False: this person sends too much, so fetch nothing for them."""

    async def admit_stranger(self, sender: Sender, name: str, text: str) -> str:
        """A stranger's name and words: return what to tell them, or nothing."""

    async def deliver(self, key: SessionKey) -> None:
        """Send what waits for this session: a person watches it now."""

    async def resume(self, key: SessionKey) -> None:
        """A person asks again for a turn that was interrupted."""

    async def status(self) -> GatewayStatus: ...

    async def spare(self, address: Address, act: Callable[[], Awaitable[None]]) -> bool:
        """Do something that only decorates, if the chat's budget has room. False: it was not."""

    async def cursor(self, account: str, name: str) -> str:
        """How far this platform was read; empty when nothing is known."""

    async def move_cursor(self, account: str, name: str, position: str) -> None:
        """Only after every message before that position was accepted (C70)."""

    def polled(self) -> None:
        """Note that the platform was asked for news."""

    async def describe(self, media: Media) -> "Considered | None":
        """Describe an image in a few words."""


class Service(Protocol):
    """A supervised loop that follows the journal or the clock. Nothing waits for it."""

    @property
    def name(self) -> str: ...

    async def run(self, host: ServiceHost, /) -> None:
        """Work until cancelled; call `host.connected` once the work begins. What it raises is
        logged, and it is started again."""


class CommandCall(Struct, frozen=True, kw_only=True):
    """A command as it is being run: on which session, by which message."""

    session: Session
    inbound: Inbound
    argument: str
    at: float
    epoch: int
    reached: bool  # the running request has begun to be answered
    new_session: Callable[[], SessionId]
    role: Role = Role.OWNER  # of who gave it
    role_of_turn: Role = Role.OWNER  # the weakest of all whose words are in the open turn

    def reply(self, text: str, ordinal: int = 0) -> Reply:
        return Reply(
            id=ReplyId(f"{self.inbound.account}#{self.inbound.id}/{ordinal}"),
            session=self.session.key,
            address=self.inbound.address,
            text=text,
            kind="notice",
        )


class CommandResult(Struct, frozen=True, kw_only=True):
    """What a command made true, and what is said about it."""

    events: tuple[Event, ...] = ()
    replies: tuple[Reply, ...] = ()


class Considered(Struct, frozen=True, kw_only=True):
    """What the model for small things made of a text."""

    text: str
    spent: Spent


class CommandContext(Protocol):
    """What a command or a tool may look at, and the one way to reach another session: a message,
    whose id must be the same when a crash makes it be sent again."""

    preflight: Callable[[], Awaitable[str]] | None  # why no restart; None: no gateway here

    @property
    def store(self) -> Store: ...

    @property
    def media(self) -> MediaStore: ...

    async def accept(self, inbound: Inbound) -> Accepted: ...

    async def status(self) -> GatewayStatus: ...

    async def consider(self, purpose: str, task: str, text: str) -> Considered:
        """Ask the model for small things. Raises ProviderFailed."""

    def clock(self) -> float: ...

    def audience(self, platform: str, /) -> Audience:
        """Who speaks on this platform."""


class Command(Struct, frozen=True, kw_only=True):
    """Declared once, the same everywhere. One that only decides has `run`; one that has to look
    something up first has `run_async`. A crash in between runs it again: what it does to another
    session must have the same id then."""

    name: str
    busy: Busy
    summary: str
    run: Callable[[CommandCall], CommandResult] | None = None
    run_async: Callable[[CommandCall, CommandContext], Awaitable[CommandResult]] | None = None
    argument: str = ""
    least: Role = Role.OWNER  # who may give it
