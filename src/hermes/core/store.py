"""What the engine asks of storage: a journal, who is alive, what waits to be sent, listings, files.

Plugins implement it; the engine imports none.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.audit import AuditEntry, AuditHead, Sealed
from hermes.core.events import Event, Span
from hermes.core.ids import NodeId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Inbound, Line, Media, Usage
from hermes.core.outbox import Outbox
from hermes.core.projection import Commit, QuestionRow, TurnRow
from hermes.core.recall import Scope
from hermes.core.session import Session
from hermes.core.trust import Trust


class Fence(Struct, frozen=True):
    """The right to write to a session: who owns it, and the how-manieth ownership it is."""

    node: NodeId
    epoch: int


class Claim(Struct, frozen=True):
    """`head` is the session's last position, where somebody looked."""

    key: SessionKey
    epoch: int
    head: int = 0


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
        """Fold from the last snapshot. An unknown key gives an empty session. Raises RowUnreadable
        or Refused when an event cannot be read and nobody has left the conversation since."""

    async def abandon(self, session: Session, *, fence: Fence) -> None:
        """The session was salvaged: what listings show as open of what is before it is over."""

    async def since(self, key: SessionKey, position: int) -> Sequence[Event]:
        """The events behind `position`, oldest first."""

    async def lines(self, spans: Sequence[Span]) -> Sequence[Line]:
        """Transcript rows of these spans, in order."""

    async def append(self, commit: Commit, *, fence: Fence) -> int:
        """All or nothing; returns the session's last position. Raises Fenced when the session or
        the node has been taken over, Outdated when the register is not at the commit's standing.
        """

    async def rest(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        """Nothing is left to do up to `position`. False when more has arrived meanwhile."""

    async def decline(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        """Give a session up that this node may not go on with now. Others may claim it at once;
        this node does not, until something new arrives. False when that has happened already."""

    async def release(self, keys: Sequence[SessionKey], *, node: NodeId) -> None:
        """Give sessions up, so that another process may claim them at once."""


class Boot(Struct, frozen=True):
    node: NodeId
    started_at: float
    state: Literal["alive", "left", "died"]


class Nodes(Protocol):
    """Which processes are alive. A node that is buried can write nothing more."""

    async def join(self, node: NodeId, *, seat: str = "") -> None:
        """Register and begin the lease; the process's death ends it at once where the store can
        see that (a file lock, a connection), else after the lease time. `seat` says which gateway
        (of which home, on which machine) this is a boot of; a chat has none."""

    async def boots(self, seat: str, *, limit: int) -> Sequence[Boot]:
        """The latest boots of this gateway, newest first."""

    async def hold(self, node: NodeId, name: str) -> bool:
        """Take, or keep, what only one living node may have (a bot's connection). It is free
        again when the node leaves or is buried."""

    async def beat(self, node: NodeId) -> bool:
        """Renew the lease, bury the dead. False when this node itself has been buried."""

    async def leave(self, node: NodeId) -> None:
        """Give everything up, in order."""

    async def wake(self, timeout_s: float) -> None:
        """Return when another process may have written something for us, or after the time-out."""


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
    sender: str = ""
    marks: tuple[tuple[int, int], ...] = ()  # where in the excerpt the words stand: [start, stop)


class Found(Struct, frozen=True, kw_only=True):
    """What a search found, the best first. `notes` say in sentences what was not looked at."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()


class ConversationRow(Struct, frozen=True, kw_only=True):
    """One conversation of a lane; the current one and those before it."""

    id: SessionId
    key: SessionKey
    title: str
    rows: int
    opening: str  # the first words of a person in it
    at: float  # of its last row


class ChatRow(Struct, frozen=True, kw_only=True):
    """One chat of the directory: how people call it, and where it is."""

    address: Address
    name: str
    session: SessionKey  # the lane of the last message there
    seen_at: float


class Home(Struct, frozen=True, kw_only=True):
    address: Address
    at: float


class Counts(Struct, frozen=True, kw_only=True):
    """The store at a glance. `outbox` counts rows by state, without the delivered ones."""

    sessions: int
    running: int
    asking: int
    suspended: int
    queued: int  # messages that wait
    marks: Mapping[str, int]  # sessions by their mark
    outbox: Mapping[str, int]
    outbox_oldest_at: float | None


Dimension = Literal["day", "model", "purpose", "platform", "session", "person"]


class UsageSum(Struct, frozen=True, kw_only=True):
    """Model calls with one `name` in common: an ISO date (UTC), a model, a purpose, a platform, a
    session's key or a person's id; "" for sessions that were deleted. Always of one model, and
    either all of them with the provider's own cost, or none (`usage.cost` is None)."""

    by: Dimension
    name: str
    model: str
    calls: int
    usage: Usage


class ToolSum(Struct, frozen=True, kw_only=True):
    """`seconds` are those of the `timed` calls."""

    tool: str
    calls: int
    failed: int
    timed: int
    seconds: float


class Spending(Struct, frozen=True, kw_only=True):
    """Sums over all dimensions, each cut to its greatest."""

    sums: tuple[UsageSum, ...] = ()
    tools: tuple[ToolSum, ...] = ()


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

    async def records(self, key: SessionKey, *, after: int, limit: int) -> Sequence[bytes]:
        """The same as they are stored, whether they can be read or not."""

    async def search(
        self, question: str, *, scope: Scope, limit: int, hidden: Sequence[Span] = ()
    ) -> Found:
        """Rows of these sessions with all the words, without those of the hidden spans. Words,
        "phrases", -exclusions and beginnings* are understood; nothing else in it is syntax. It
        costs no more than so much: a question is cut, old rows with a common word are left out."""

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]:
        """Those of one lane, or of all; the latest first. One without a row is not listed."""

    async def in_phase(self, phase: str, *, limit: int) -> Sequence[SessionRow]:
        """Sessions that are `running`, `asking` or `suspended`; newest activity first."""

    async def chats(self, *, limit: int) -> Sequence[ChatRow]:
        """The directory, latest first: every chat in which a message named its place."""

    async def homes(self) -> Sequence[Home]:
        """The home chat of each platform, the one that was set last first."""

    async def counts(self) -> Counts: ...

    async def questions(self, *, limit: int, pending: bool = False) -> Sequence[QuestionRow]:
        """What people were asked, the latest first; or only what still waits."""

    async def question(self, id_: str) -> QuestionRow | None: ...

    async def overdue(self, now: float, *, limit: int) -> Sequence[SessionKey]:
        """Sessions that wait for an answer or a result whose time is over."""

    async def usage(self, *, since: float, until: float, limit: int = 1_000) -> Spending:
        """What was spent in [since, until), by each dimension, at most `limit` rows of each."""

    async def spent(
        self,
        *,
        since: float,
        key: SessionKey | None = None,
        conversation: SessionId | None = None,
        person: str | None = None,
    ) -> Sequence[UsageSum]:
        """What was spent since then, by model; all of it, or that of one lane, of one conversation
        in its lane, of one person."""

    async def delete(self, key: SessionKey) -> bool:
        """Remove a session and all that belongs to it. Refused while a living node runs it."""

    async def rebuild(self) -> None:
        """Make every projection anew from the journal."""


class Cursors(Protocol):
    """How far each platform has been read. A position moves only after every message before it was
    accepted (C70); a crash in between reads some again, and the inbox drops those it knows."""

    async def cursor(self, platform: str, account: str, name: str) -> str:
        """Return the position, or "" when there is none yet."""

    async def move_cursor(
        self, platform: str, account: str, name: str, text: str, *, node: NodeId
    ) -> None:
        """Store the position; "" removes it. Durable when this returns. Raise Fenced when the node
        has left or was declared dead, Rejected when the text is too long."""


class TextStore(Protocol):
    """Long texts that many sessions share (system prompts), each kept once, by its digest."""

    async def keep(self, text: str) -> str:
        """Durable when it returns the digest: SHA-256 of the UTF-8 bytes, in hex."""

    async def text(self, digest: str) -> str | None: ...


class Audit(Protocol):
    """The record of what was done. It grows at its end, and only `prune` makes it shorter."""

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        """What happened outside of a session: a setting was changed, say."""

    async def entries(
        self, *, limit: int, since: float = 0.0, session: SessionKey | None = None
    ) -> Sequence[Sealed]:
        """The latest, oldest first."""

    async def check(self, heads: Mapping[str, AuditHead]) -> Sequence[str]:
        """What is wrong with it; see `audit.faults`."""

    async def heads(self) -> Mapping[str, AuditHead]:
        """Where each chain ends, to be noted somewhere else."""

    async def prune(self, before: float, at: float) -> int:
        """Cut off what is older, as far as one go takes, and seal that it was; returns how many
        went. `at` is now."""


class Upkeep(Protocol):
    """Care of the store itself."""

    async def check(self) -> Sequence[str]:
        """Problems found by the integrity check; empty when all is well."""

    async def backup(self, target: str) -> None:
        """A consistent copy into a new file, while others go on writing."""

    async def close(self) -> None: ...


class Store(Struct, frozen=True, kw_only=True):
    """One database, seen from each of its sides."""

    journal: Journal
    nodes: Nodes
    outbox: Outbox
    cursors: Cursors
    library: Library
    texts: TextStore
    trust: Trust
    audit: Audit
    upkeep: Upkeep


class MediaStore(Protocol):
    """Files that came with messages, by digest."""

    async def put(self, content: bytes, media_type: str, name: str) -> Media: ...

    async def get(self, media: Media) -> bytes | None: ...
