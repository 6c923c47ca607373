"""Reply windows: some platforms let us write only for a while after a person's message.

A reply that is due later stays in the outbox and goes out when the person writes again. Nothing is
sent before a message in the chat is known to be recent enough (P3, `Manifest.window_s`).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from hermes.core.errors import Refused, RowUnreadable
from hermes.core.ids import SessionKey, chat_key, name_of
from hermes.core.messages import Address, Inbound
from hermes.core.outbox import OutboxRow
from hermes.core.store import Journal

LOOK_S = 30.0  # between two looks into the store: another node may have got the message
CHATS_MAX = 10_000
CLOSED_MAX = 10_000

Chat = tuple[str, str]


class _Heard(Struct):
    """When a person last wrote in a chat, as far as this process knows."""

    at: float = 0.0
    looked_at: float = float("-inf")  # on the loop's clock


class ReplyWindows(Struct, kw_only=True):
    journal: Journal
    clock: Callable[[], float]
    windows_s: Mapping[str, float]  # platform: how long after a person's message we may write
    closed: int = 0  # rows that the latest look left in the outbox
    _heard: dict[Chat, _Heard] = field(default_factory=dict)

    def heard(self, inbound: Inbound) -> None:
        """Note that a person wrote in a chat."""
        if self.windows_s.get(inbound.address.platform) and inbound.origin == "person":
            known = self._known(inbound.address)
            known.at = max(known.at, inbound.at)

    async def sendable(self, rows: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
        """Return the rows whose chats may be written to now."""
        if not any(self.windows_s.values()):
            return rows
        found = [row for row in rows if await self.is_open(row.reply.address, row.reply.session)]
        self.closed = min(len(rows) - len(found), CLOSED_MAX)
        return found

    async def is_open(self, address: Address, session: SessionKey) -> bool:
        """Return True if a person wrote in this chat recently enough."""
        window_s = self.windows_s.get(address.platform, 0.0)
        if not window_s:
            return True
        known, now = self._known(address), asyncio.get_running_loop().time()
        if self.clock() - known.at >= window_s and now - known.looked_at >= LOOK_S:
            known.looked_at = now
            known.at = max(known.at, await self._last_message_at(address, session))
        return self.clock() - known.at < window_s

    async def _last_message_at(self, address: Address, session: SessionKey) -> float:
        """Ask the journal. A chat of two has one session; a reply's own session counts as well if
        it is one of this chat."""
        keys = {chat_key(address.platform, "dm", address.chat, thread=address.thread)}
        name = name_of(session)
        if name is not None and (name.platform, name.chat) == (address.platform, address.chat):
            keys.add(session)
        return max([await self._heard_at(key) for key in keys])

    async def _heard_at(self, key: SessionKey) -> float:
        try:
            return (await self.journal.load(key)).heard_at
        except (RowUnreadable, Refused):
            return 0.0

    def _known(self, address: Address) -> _Heard:
        while len(self._heard) >= CHATS_MAX:
            del self._heard[next(iter(self._heard))]
        return self._heard.setdefault((address.platform, address.chat), _Heard())
