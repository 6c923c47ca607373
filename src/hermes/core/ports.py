"""What the engine asks of the outside world. Plugins implement it; the engine imports none."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.events import Event, Span
from hermes.core.ids import NodeId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import (
    Call,
    Effect,
    Inbound,
    Line,
    Media,
    Outcome,
    Reply,
    Thought,
    Usage,
)
from hermes.core.projection import Commit, TurnRow
from hermes.core.session import Session
from hermes.core.signals import Watch
from hermes.core.step import Busy

# ── stores ──────────────────────────────────────────────────────────────────────────────────────


class Fence(Struct, frozen=True):
    """The right to write to a session: who owns it, and the how-manieth ownership it is."""

    node: NodeId
    epoch: int


class Claim(Struct, frozen=True):
    key: SessionKey
    epoch: int


class Accepted(Struct, frozen=True):
    """`fresh` is false when the same message had been accepted before."""

    fresh: bool
    key: SessionKey
    position: int


class Journal(Protocol):
    """Sessions and who may write to them. Every method is one transaction."""

    async def accept(self, inbound: Inbound, *, opens: SessionId) -> Accepted:
        """Journal the message unless (account, id) was seen before, and wake its session."""

    async def claim(
        self, node: NodeId, *, limit: int, only: SessionKey | None = None
    ) -> Sequence[Claim]:
        """Take over sessions with something to do (events after their last rest) that nobody
        alive owns, oldest first; with `only`, that session whether it has or not."""

    async def owned(self, node: NodeId, *, limit: int) -> Sequence[Claim]:
        """Sessions this node owns already and that have something to do again."""

    async def load(self, key: SessionKey) -> Session:
        """Fold from the last snapshot. An unknown key gives an empty session."""

    async def since(self, key: SessionKey, position: int) -> Sequence[Event]:
        """The events behind `position`, oldest first."""

    async def lines(self, spans: Sequence[Span]) -> Sequence[Line]:
        """Transcript rows of these spans, in order."""

    async def append(self, commit: Commit, *, fence: Fence) -> int:
        """All or nothing; returns the session's last position. Raises Fenced when the session or
        the node has been taken over."""

    async def rest(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        """Nothing is left to do up to `position`. False when more has arrived meanwhile."""

    async def release(self, keys: Sequence[SessionKey], *, node: NodeId) -> None:
        """Give sessions up, so that another process may claim them at once."""


class Nodes(Protocol):
    """Which processes are alive. A node that is buried can write nothing more."""

    async def join(self, node: NodeId) -> None:
        """Register and begin the lease; the process's death ends it at once where the store can
        see that (a file lock, a connection), else after the lease time."""

    async def beat(self, node: NodeId) -> bool:
        """Renew the lease, bury the dead. False when this node itself has been buried."""

    async def leave(self, node: NodeId) -> None:
        """Give everything up, in order."""

    async def wake(self, timeout_s: float) -> None:
        """Return when another process may have written something for us, or after the time-out."""


SendState = Literal["pending", "sending", "delivered", "failed", "abandoned"]


class OutboxRow(Struct, frozen=True, kw_only=True):
    reply: Reply
    state: SendState
    attempts: int
    chunks_sent: int
    created_at: float


class Outbox(Protocol):
    """Replies between the commit that made them and the platform that took them."""

    async def due(
        self, platforms: Sequence[str], *, now: float, limit: int, only: SessionKey | None = None
    ) -> Sequence[OutboxRow]:
        """Rows that wait to be sent, oldest first: pending, failed and ready again, and those that
        were `sending` when their process died."""

    async def sending(self, reply: ReplyId, *, node: NodeId) -> bool:
        """Durable before the first byte leaves. False when another node has it in hand."""

    async def sent_chunks(self, reply: ReplyId, count: int) -> None: ...

    async def delivered(self, reply: ReplyId, receipt: str, *, at: float) -> None: ...

    async def failed(
        self, reply: ReplyId, why: str, *, not_before: float, abandon: bool
    ) -> None: ...

    async def rows(self, key: SessionKey, *, limit: int) -> Sequence[OutboxRow]:
        """All rows of a session whatever their state, newest first."""


class SessionRow(Struct, frozen=True, kw_only=True):
    key: SessionKey
    id: SessionId
    phase: str
    mark: str
    runs: int
    waiting: int
    title: str
    created_at: float
    updated_at: float
    events: int
    rows: int


class Hit(Struct, frozen=True, kw_only=True):
    """One row found by a search, with the words around the match."""

    key: SessionKey
    id: SessionId
    ordinal: int
    role: str
    at: float
    excerpt: str


class Library(Protocol):
    """Listings for people. Everything here can be rebuilt from the journal."""

    async def sessions(self, *, limit: int, before: float | None = None) -> Sequence[SessionRow]:
        """Newest activity first."""

    async def find(self, name: str) -> SessionRow | None:
        """By key, by conversation id (older ones too), or by a prefix of an id that fits one."""

    async def turns(self, *, limit: int, key: SessionKey | None = None) -> Sequence[TurnRow]: ...

    async def turn(self, turn: TurnId) -> TurnRow | None: ...

    async def events(
        self, key: SessionKey, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Event]: ...

    async def search(self, words: str, *, limit: int) -> Sequence[Hit]: ...

    async def delete(self, key: SessionKey) -> bool:
        """Remove a session and all that belongs to it. Refused while a living node runs it."""

    async def rebuild(self) -> None:
        """Make every projection anew from the journal."""


class Upkeep(Protocol):
    """Care of the store itself."""

    async def check(self) -> Sequence[str]:
        """Problems found by the integrity check; empty when all is well."""

    async def backup(self, target: str) -> None:
        """A consistent copy into a new file, while others go on writing."""

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Store:
    """One database, seen from each of its sides."""

    journal: Journal
    nodes: Nodes
    outbox: Outbox
    library: Library
    upkeep: Upkeep


# ── models ──────────────────────────────────────────────────────────────────────────────────────


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What a model is told about a tool. `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str


class Request(Struct, frozen=True, kw_only=True):
    """One question to a model. `system` and `tools` are byte-stable for a session's life."""

    system: str
    lines: tuple[Line, ...]
    tools: tuple[ToolSpec, ...] = ()
    blobs: Mapping[str, bytes] = {}  # media of the lines, by digest
    output_tokens_max: int | None = None


class RawCall(Struct, frozen=True):
    """A tool call as the model wrote it; nothing about it has been believed yet."""

    tool: str
    arguments: str


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer. One that was cut, or came without a finish reason, is an error instead."""

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    finish: Literal["stop", "length", "calls", "filtered"] = "stop"


class Provider(Protocol):
    @property
    def name(self) -> str:
        """provider:model, as written into the journal."""

    async def ask(self, request: Request, watch: Watch) -> Answer:
        """Raises a ProviderFailed. Cancelling the task closes the connection at once."""

    async def aclose(self) -> None: ...


# ── tools ───────────────────────────────────────────────────────────────────────────────────────


class ToolResult(Struct, frozen=True, kw_only=True):
    text: str
    outcome: Outcome = Outcome.OK
    facts: dict[str, str] = {}
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where a call is performed: whose it is, and what the session remembers."""

    session: SessionKey
    turn: TurnId
    call: Call
    facts: Mapping[str, str]
    watch: Watch


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A manifest. The engine reads it and never looks inside its functions.

    `check` says what is wrong with the arguments ("" when nothing is) and `effect` classifies
    them; both are pure. `seek` looks for the outcome of a call that was started by a process that
    is gone; it returns None when nobody can know, and is absent where there is nothing to look at.
    Cancelling `run` leaves a detached command alone; `stop` ends it, because a person said so.
    """

    spec: ToolSpec
    check: Callable[[str], str]
    effect: Callable[[str], Effect]
    run: Callable[[Bench], Awaitable[ToolResult]]
    seek: Callable[[Bench], Awaitable[ToolResult | None]] | None = None
    stop: Callable[[Bench], Awaitable[None]] | None = None


class MediaShelf(Protocol):
    """Files that came with messages, by digest."""

    async def put(self, content: bytes, media_type: str, name: str) -> Media: ...

    async def get(self, media: Media) -> bytes | None: ...


# ── channels and commands ───────────────────────────────────────────────────────────────────────


class Manifest(Struct, frozen=True, kw_only=True):
    """What differs between channels, as data."""

    name: str
    text_chars_max: int = 1_000_000
    edits: bool = False
    on_doubt: Literal["same_key", "mark_repeat"] = "mark_repeat"


class Channel(Protocol):
    @property
    def manifest(self) -> Manifest: ...

    def render(self, text: str) -> Sequence[str]:
        """Pure: the chunks in which the platform gets this text."""

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Returns the platform's receipt. `key` is the same for the same chunk, always."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A command as it is being run: on which session, by which message."""

    session: Session
    inbound: Inbound
    argument: str
    at: float
    epoch: int
    reached: bool  # the running request has begun to be answered
    new_session: Callable[[], SessionId]

    def reply(self, text: str, ordinal: int = 0) -> Reply:
        return Reply(
            id=ReplyId(f"{self.inbound.account}#{self.inbound.id}/{ordinal}"),
            session=self.session.key,
            address=self.inbound.address,
            text=text,
            kind="notice",
        )


@dataclass(frozen=True, kw_only=True)
class Obeyed:
    """What a command made true, and what is said about it."""

    events: tuple[Event, ...] = ()
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Command:
    name: str
    busy: Busy
    summary: str
    run: Callable[[Order], Obeyed]
    argument: str = ""
