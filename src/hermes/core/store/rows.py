"""What the library lists: one value for each kind of row."""

from collections.abc import Mapping

from msgspec import Struct

from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import Address


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
