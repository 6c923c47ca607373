"""The cursors: how far each platform has been read."""

from typing import Protocol

from hermes.core.ids import NodeId


class Cursors(Protocol):
    """How far each platform has been read. A position moves only after every message before it was
    accepted (C70); a crash in between reads some again, and the inbox drops those it knows."""

    async def cursor(self, platform: str, account: str, name: str) -> str:
        """Return the position; "" before the first one was stored."""

    async def move_cursor(
        self, platform: str, account: str, name: str, text: str, *, node: NodeId
    ) -> None:
        """Store the position; "" removes it. Durable when this returns. Raise Fenced when the node
        has left or was declared dead, Rejected when the text is too long."""
