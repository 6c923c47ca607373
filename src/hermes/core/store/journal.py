"""The journal: messages and events of each session, and which node may write to it."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from hermes.core.events import Event, Span
from hermes.core.ids import NodeId, SessionId, SessionKey
from hermes.core.messages import Inbound, Line
from hermes.core.projection import Commit
from hermes.core.session import Session


class Fence(Struct, frozen=True):
    """The right to write to a session: the owning node and the number of its ownership."""

    node: NodeId
    epoch: int


class Claim(Struct, frozen=True):
    """The ownership of a session. `head` is its last position, if that was read."""

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
        """Fold a session from its last snapshot. An unknown key gives an empty session. Raise
        RowUnreadable or Refused when an event cannot be read and no later message leaves the
        conversation."""

    async def abandon(self, session: Session, *, fence: Fence) -> None:
        """The session was salvaged: what listings show as open of what is before it is over."""

    async def since(self, key: SessionKey, position: int) -> Sequence[Event]:
        """The events behind `position`, oldest first."""

    async def lines(self, spans: Sequence[Span]) -> Sequence[Line]:
        """Transcript rows of these spans, in order."""

    async def append(self, commit: Commit, *, fence: Fence) -> int:
        """Write all of the commit or nothing. Return the session's last position. Raise Fenced when
        another node took the session or declared this node dead, Outdated when the register has a
        newer version."""

    async def rest(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        """Nothing is left to do up to `position`. False when more has arrived meanwhile."""

    async def decline(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        """Give a session up that this node may not go on with now. Others may claim it at once;
        this node does not, until something new arrives. False when that has happened already."""

    async def release(self, keys: Sequence[SessionKey], *, node: NodeId) -> None:
        """Give sessions up, so that another process may claim them at once."""
