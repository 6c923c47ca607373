"""What the engine asks of storage for replies: pending, being sent, delivered, failed, given up."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.ids import NodeId, ReplyId, SessionKey
from hermes.core.messages import Reply

SendState = Literal["pending", "sending", "delivered", "failed", "abandoned"]


class OutboxRow(Struct, frozen=True, kw_only=True):
    reply: Reply
    state: SendState
    attempts: int
    chunks_sent: int
    created_at: float
    receipt: str = ""  # of the last chunk that a platform took
    behind: str = ""  # a receipt of the chat from before the first chunk left
    problem: str = ""  # why it was not taken the last time


class Outbox(Protocol):
    """Replies between the commit that made them and the platform that took them."""

    async def due(
        self,
        platforms: Sequence[str],
        *,
        now: float,
        limit: int,
        only: SessionKey | None = None,
        mine: NodeId | None = None,
    ) -> Sequence[OutboxRow]:
        """Rows that wait to be sent, oldest first: pending, failed and ready again, and those that
        were `sending` when their process died or, for the node `mine`, when their task did. Not
        those for a chat that is paused, nor those behind a row of the same session and chat that
        is not due yet."""

    async def at_once(self, platforms: Sequence[str]) -> None:
        """These platforms are there again: what failed is due now."""

    async def pause(self, platform: str, chat: str, *, until: float) -> None:
        """A platform wants nothing in this chat for a while; also after a restart (C53)."""

    async def waits(self, *, now: float) -> Mapping[tuple[str, str], float]:
        """The chats (platform, chat) that are paused now, and until when."""

    async def sending(
        self,
        reply: ReplyId,
        *,
        node: NodeId,
        chunk: int = 0,
        behind: str = "",
        mine: bool = False,
    ) -> bool:
        """Durable directly before the bytes of this chunk leave. False when the row has moved on,
        or another node has it in hand; so has this one, unless the row was seen as left over
        (`mine`)."""

    async def has_receipt(self, platform: str, chat: str, receipt: str) -> bool:
        """Return True if a recent reply got this receipt in this chat."""

    async def cards(self, platform: str, chat: str, *, limit: int) -> Sequence[Reply]:
        """The latest replies to this chat that have buttons, newest first, also those that are
        being sent: a button that was pressed is one of these (P6)."""

    async def sent_chunks(self, reply: ReplyId, count: int, *, receipt: str = "") -> None:
        """So many chunks were taken; the row is `pending` until the next one is sent."""

    async def delivered(self, reply: ReplyId, receipt: str, *, at: float) -> None: ...

    async def failed(
        self, reply: ReplyId, why: str, *, not_before: float, abandon: bool, counts: bool = True
    ) -> None:
        """It was not taken, as far as is known. `counts`: as an attempt."""

    async def rows(self, key: SessionKey, *, limit: int) -> Sequence[OutboxRow]:
        """Return all rows of a session in any state, newest first."""
