"""Last stop of every reply: note that it is being sent, send it, note the receipt.

What was `sending` when a process died may or may not have arrived (C51). It goes out again under
the same key. Where the platform knows no keys but shows what it has, we look there first; what is
not found, or cannot be looked for, goes out again with words that say so.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct, field

from hermes.core.channel import Channel, Screen
from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused, ChannelSilent
from hermes.core.ids import NodeId, SessionKey
from hermes.core.messages import Media, Reply
from hermes.core.store import MediaShelf, Outbox, OutboxRow
from hermes.gateway.mirror import Mirror
from hermes.gateway.pace import Pace

ROWS_MAX = 200
IN_DOUBT = "it may have arrived: "
ATTEMPTS_MAX = 20
PAUSE_S_MAX = 600.0  # between two tries: with the doubling before it, about two hours in all
REPEAT = "(Perhaps a repeat: I was interrupted while sending this.)"


class Flushed(Struct):
    """`done` with for good, whether taken or given up; `abandoned` are the latter."""

    done: int = 0
    abandoned: list[tuple[Reply, str]] = field(default_factory=list)


def joined(parts: Sequence[Flushed]) -> Flushed:
    abandoned = [lost for part in parts for lost in part.abandoned]
    return Flushed(sum(part.done for part in parts), abandoned)


def _in_doubt(row: OutboxRow) -> bool:
    """The chunk that comes next may have been taken already."""
    return row.state == "sending" or row.problem.startswith(IN_DOUBT)


class Delivery(Struct, kw_only=True):
    outbox: Outbox
    mirror: Mirror
    channels: Mapping[str, Channel]
    screens: Mapping[str, Screen]
    media: MediaShelf
    pace: Pace
    node: NodeId
    clock: Callable[[], float]
    again_at: float = 0.0  # when the next of those that failed may be tried again
    _under_way: dict[SessionKey, "asyncio.Task[Flushed]"] = field(default_factory=dict)

    async def flush(
        self, platforms: Collection[str] | None = None, *, only: SessionKey | None = None
    ) -> Flushed:
        """Send what is due on these platforms, and wait until it is sent.

        Says how many replies are done with, so that who calls again while there are any ends.
        """
        tasks = await self.start(platforms, only=only)
        return joined([await task for task in tasks])

    async def start(
        self, platforms: Collection[str] | None = None, *, only: SessionKey | None = None
    ) -> Sequence["asyncio.Task[Flushed]"]:
        """Begin to send: in order within a session, sessions side by side. A session whose replies
        are being sent already is left to that."""
        names = tuple(self.channels if platforms is None else platforms)
        if not names:
            return ()
        self.again_at = 0.0
        rows = await self.outbox.due(names, now=self.clock(), limit=ROWS_MAX, only=only)
        by_session: dict[SessionKey, list[OutboxRow]] = {}
        for row in rows:
            if row.reply.session not in self._under_way:
                by_session.setdefault(row.reply.session, []).append(row)
        return [self._begin(key, rows) for key, rows in by_session.items()]

    def _begin(self, key: SessionKey, rows: Sequence[OutboxRow]) -> "asyncio.Task[Flushed]":
        task = asyncio.create_task(self._in_order(rows))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return task

    async def _in_order(self, rows: Sequence[OutboxRow]) -> Flushed:
        flushed = Flushed()
        for row in rows:
            if not await self._deliver(row, flushed):
                break  # what follows waits, so that nothing overtakes
            flushed.done += 1
        return flushed

    async def _deliver(self, row: OutboxRow, flushed: Flushed) -> bool:
        reply = row.reply
        screen = self._looks(reply.address.platform)
        behind = row.behind if _in_doubt(row) or screen is None else screen.end_of(reply.address)
        if not await self.outbox.sending(reply.id, node=self.node, behind=behind):
            return False
        try:
            receipt = await self._send(row)
        except ChannelDown as down:
            doubt = isinstance(down, ChannelSilent) or _in_doubt(row)
            why = f"{IN_DOUBT}{down}" if doubt else str(down)
            over = row.attempts + 1 >= ATTEMPTS_MAX and not isinstance(down, ChannelBusy)
            pause_s = max(down.delay_s, min(2.0 ** (row.attempts - 1), PAUSE_S_MAX))
            pause_s = down.delay_s if isinstance(down, ChannelBusy) else pause_s
            again = self.clock() + pause_s
            self.again_at = min(again, self.again_at or again)
            await self.outbox.failed(reply.id, why, not_before=again, abandon=over)
            flushed.abandoned += [(reply, str(down))] if over else []
            return False
        except ChannelRefused as refused:
            await self.outbox.failed(reply.id, str(refused), not_before=0, abandon=True)
            flushed.abandoned.append((reply, str(refused)))
            return True
        await self.mirror.reflect(reply)
        await self.outbox.delivered(reply.id, receipt, at=self.clock())
        return True

    async def _send(self, row: OutboxRow) -> str:
        """Chunk by chunk from the first one that is missing, then the files."""
        reply, receipt = row.reply, row.receipt
        channel = self.channels[reply.address.platform]
        pieces: list[str | Media] = [*channel.render(reply.text)] if reply.text.strip() else []
        pieces += reply.media
        for n in range(row.chunks_sent, len(pieces)):
            async with self.pace.message(reply.address):
                receipt = await self._piece(row, n, pieces[n])
            if n + 1 < len(pieces):
                await self.outbox.sent_chunks(reply.id, n + 1, receipt=receipt)
        return receipt

    async def _piece(self, row: OutboxRow, n: int, piece: str | Media) -> str:
        reply, key = row.reply, f"{row.reply.id}.{n}"
        platform = reply.address.platform
        screen = self.screens.get(platform)
        if isinstance(piece, Media):
            return await self._attach(screen, reply, piece, key)
        if n == 0 and reply.replaces and screen is not None:
            try:
                return await screen.change(reply, reply.replaces, piece)
            except ChannelRefused:
                pass  # the draft is gone: the answer comes as a message of its own
        channel = self.channels[platform]
        doubt = _in_doubt(row) and channel.manifest.on_doubt != "same_key"
        if not doubt or n > row.chunks_sent:
            return await channel.send(reply, piece, key=key)
        mark = "".join(channel.render(REPEAT))
        marked = f"{mark}\n\n{piece}"
        if found := await self._found(row, (piece, marked)):
            return found
        if len(marked) <= channel.manifest.text_chars_max:
            return await channel.send(reply, marked, key=key)
        await channel.send(reply, mark, key=f"{key}.mark")
        return await channel.send(reply, piece, key=key)

    async def _found(self, row: OutboxRow, chunks: Sequence[str]) -> str:
        """The receipt that nobody could note, if the platform still has what it is of."""
        address, behind = row.reply.address, row.receipt or row.behind
        screen = self._looks(address.platform)
        if screen is None or not behind:
            return ""
        known = partial(self.outbox.has_receipt, address.platform, address.chat)
        return await screen.find(row.reply, chunks, behind=behind, known=known)

    def _looks(self, platform: str) -> Screen | None:
        looks = self.channels[platform].manifest.on_doubt == "look"
        return self.screens.get(platform) if looks else None

    async def _attach(self, screen: Screen | None, reply: Reply, media: Media, key: str) -> str:
        content = await self.media.get(media)
        if screen is not None and content is not None:
            return await screen.attach(reply, media, content, key=key)
        missing = "cannot be sent here" if content is not None else "is not stored any more"
        text = f"(The file {media.name or media.digest} {missing}.)"
        return await self.channels[reply.address.platform].send(reply, text, key=key)
