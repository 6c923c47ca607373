"""Last stop of every reply: note that it is being sent, send it, note the receipt.

What was `sending` when a process died may or may not have arrived: it goes out again under the
same key, or, where the platform knows no keys, with words that say so (C51).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hermes.core.channel import Channel
from hermes.core.errors import ChannelDown, ChannelRefused
from hermes.core.ids import NodeId, SessionKey
from hermes.core.store import Outbox, OutboxRow

ROWS_MAX = 200
ATTEMPTS_MAX = 8
REPEAT = "(Perhaps a repeat: I was interrupted while sending this.)\n\n"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    outbox: Outbox
    channels: Mapping[str, Channel]
    node: NodeId
    clock: Callable[[], float]

    async def flush(self, only: SessionKey | None = None) -> int:
        """Send what is due: in order within a session, sessions side by side.

        Returns how many replies are done with, so that who calls again while there are any ends.
        """
        platforms = tuple(self.channels)
        now = self.clock()
        rows = await self.outbox.due(platforms, now=now, limit=ROWS_MAX, only=only)
        by_session: dict[SessionKey, list[OutboxRow]] = {}
        for row in rows:
            by_session.setdefault(row.reply.session, []).append(row)
        return sum(await asyncio.gather(*(self._in_order(rows) for rows in by_session.values())))

    async def _in_order(self, rows: Sequence[OutboxRow]) -> int:
        for done, row in enumerate(rows):
            if not await self._deliver(row):
                return done  # what follows waits, so that nothing overtakes
        return len(rows)

    async def _deliver(self, row: OutboxRow) -> bool:
        reply = row.reply
        if not await self.outbox.sending(reply.id, node=self.node):
            return False
        channel = self.channels[reply.address.platform]
        doubt = row.state == "sending" and channel.manifest.on_doubt == "mark_repeat"
        chunks = channel.render(reply.text)
        receipt = ""
        try:
            for n in range(row.chunks_sent, len(chunks)):
                text = REPEAT + chunks[n] if doubt and n == row.chunks_sent else chunks[n]
                receipt = await channel.send(reply, text, key=f"{reply.id}.{n}")
                if n + 1 < len(chunks):
                    await self.outbox.sent_chunks(reply.id, n + 1)
        except ChannelDown as down:
            again = self.clock() + down.delay_s
            over = row.attempts + 1 >= ATTEMPTS_MAX
            await self.outbox.failed(reply.id, str(down), not_before=again, abandon=over)
            return False
        except ChannelRefused as refused:
            await self.outbox.failed(reply.id, str(refused), not_before=0, abandon=True)
            return True
        await self.outbox.delivered(reply.id, receipt, at=self.clock())
        return True
