"""The last stop of every reply: record that it is being sent, send it, record the receipt.

`sending` is written directly before the bytes leave, so a process that finds it later knows that
they may have arrived (C51). Such a chunk is sent again with the same key. Where the platform has no
keys but shows its messages, we look for it first; a chunk that is not found is sent again with a
note that it may be a repeat.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.core.channel import Channel, Manifest, Screen
from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused, ChannelSilent, Rejected
from hermes.core.ids import NodeId, SessionKey, TurnId
from hermes.core.messages import Media, Reply
from hermes.core.outbox import Outbox, OutboxRow
from hermes.core.store import MediaStore
from hermes.gateway.cross_post import CrossPost
from hermes.gateway.send_rate import SendRate
from hermes.gateway.windows import ReplyWindows
from hermes.text.choices import choices_as_text
from hermes.text.links import links_as_text

ROWS_MAX = 200
IN_DOUBT = "it may have arrived: "
ATTEMPTS_MAX = 20
PAUSE_S_MAX = 600.0  # between two tries: with the doubling before it, about two hours in all
log = logging.getLogger("hermes.gateway")

REPEAT = "(Perhaps a repeat: I was interrupted while sending this.)"


class Flushed(Struct):
    """`done` counts replies that were delivered or given up; `abandoned` lists the latter."""

    done: int = 0
    abandoned: list[tuple[Reply, str]] = field(default_factory=list)


class _NotOurs(Exception):
    """Another process has the row, or this one is leaving. Nothing was sent."""


def joined(parts: Sequence[Flushed]) -> Flushed:
    abandoned = [lost for part in parts for lost in part.abandoned]
    return Flushed(sum(part.done for part in parts), abandoned)


def _in_doubt(row: OutboxRow) -> bool:
    """Return True if the next chunk may have arrived already."""
    return row.state == "sending" or row.problem.startswith(IN_DOUBT)


def _is_large(manifest: Manifest, content: bytes) -> bool:
    return 0 < manifest.file_bytes_max < len(content)


def _fitting(reply: Reply, manifest: Manifest) -> Reply:
    """Return the reply as this platform can show it. Raise ChannelRefused when it cannot.

    In an untrusted conversation a link could carry out what the model has read (P11), so its
    address is shown as text. Buttons that the platform has no room for are written out.
    """
    if reply.address.thread and not manifest.threads:
        where = f"{manifest.name}:{reply.address.chat}"
        raise ChannelRefused(f"{manifest.name} has no threads; send it to {where} instead")
    text = links_as_text(reply.text) if "untrusted" in reply.labels else reply.text
    room = manifest.buttons.rows if manifest.buttons is not None else 0
    words = choices_as_text(reply.buttons[room:])
    return replace(reply, text=f"{text}\n\n{words}" if words else text)


class Delivery(Struct, kw_only=True):
    outbox: Outbox
    mirror: CrossPost
    channels: Mapping[str, Channel]
    screens: Mapping[str, Screen]
    media: MediaStore
    pace: SendRate
    windows: ReplyWindows
    node: NodeId
    clock: Callable[[], float]
    drawn: dict[TurnId, str]  # the drafts of this process, by their receipts
    again_at: float = 0.0  # when the next of those that failed may be tried again
    _closing: bool = False
    _under_way: dict[str, "asyncio.Task[Flushed]"] = field(default_factory=dict)
    _on_the_wire: set["asyncio.Task[object] | None"] = field(default_factory=set)

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
        if not names or self._closing:
            return ()
        if self.again_at <= self.clock():
            self.again_at = 0.0
        rows = await self.outbox.due(
            names,
            now=self.clock(),
            limit=ROWS_MAX + self.windows.closed,
            only=only,
            mine=self.node,
        )
        queues: dict[str, list[OutboxRow]] = {}
        for row in await self.windows.sendable(rows):
            queue = row.reply.id if row.reply.kind == "removal" else row.reply.session
            if queue not in self._under_way:
                queues.setdefault(queue, []).append(row)
        return [self._begin(queue, rows) for queue, rows in queues.items()]

    async def close(self, limit_s: float) -> None:
        """Begin nothing more, and let what is on its way arrive: so nobody doubts it later."""
        self._closing = True
        wire = {task for task in self._on_the_wire if task is not None}
        if wire:
            await asyncio.wait(wire, timeout=limit_s)
        rest = self.under_way()
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest)

    def under_way(self) -> "set[asyncio.Task[Flushed]]":
        return set(self._under_way.values())

    def _begin(self, queue: str, rows: Sequence[OutboxRow]) -> "asyncio.Task[Flushed]":
        task = asyncio.create_task(self._in_order(rows))
        self._under_way[queue] = task
        task.add_done_callback(lambda _: self._under_way.pop(queue, None))
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
        try:
            receipt = await self._send(row)
            await self._reflect(reply)
            await self.outbox.delivered(reply.id, receipt, at=self.clock())
        except _NotOurs:
            return False
        except ChannelDown as down:
            await self._put_back(row, down, flushed)
            return False
        except ChannelRefused as refused:
            return await self._give_up(row, str(refused), flushed)
        finally:
            self._on_the_wire.discard(asyncio.current_task())
        return True

    async def _reflect(self, reply: Reply) -> None:
        if not self.channels[reply.address.platform].manifest.chats:
            return
        try:
            await self.mirror.reflect(reply)
        except Rejected as refused:
            log.warning("%s was sent, and its chat does not know of it: %s", reply.id, refused)

    async def _give_up(self, row: OutboxRow, why: str, flushed: Flushed) -> bool:
        """Mark a reply as abandoned. Only the node that holds the row may do that; a reply that
        cannot be rendered is refused before it is taken."""
        if asyncio.current_task() not in self._on_the_wire and not await self.outbox.sending(
            row.reply.id, node=self.node, chunk=row.chunks_sent, mine=row.state == "sending"
        ):
            return False
        await self.outbox.failed(row.reply.id, why, not_before=0, abandon=True)
        flushed.abandoned.append((row.reply, why))
        return True

    async def _put_back(self, row: OutboxRow, down: ChannelDown, flushed: Flushed) -> None:
        """Schedule another attempt. A pause that the platform asked for does not count as one."""
        busy = isinstance(down, ChannelBusy)
        pause_s = max(down.delay_s, min(2.0 ** (row.attempts - 1), PAUSE_S_MAX))
        again = self.clock() + (down.delay_s if busy else pause_s)
        self.again_at = min(again, self.again_at or again)
        if asyncio.current_task() not in self._on_the_wire:
            return  # nothing has left: the row is as it was
        doubt = isinstance(down, ChannelSilent) or _in_doubt(row)
        why = f"{IN_DOUBT}{down}" if doubt else str(down)
        over = row.attempts + 1 >= ATTEMPTS_MAX and not busy
        await self.outbox.failed(row.reply.id, why, not_before=again, abandon=over, counts=not busy)
        flushed.abandoned += [(row.reply, str(down))] if over else []

    async def _send(self, row: OutboxRow) -> str:
        """Send the chunks from the first missing one, then the files."""
        channel, receipt = self.channels[row.reply.address.platform], row.receipt
        row = replace(row, reply=_fitting(row.reply, channel.manifest))
        reply, text = row.reply, row.reply.text
        pieces: list[str | Media] = [*channel.render(text)] if text.strip() else []
        pieces += reply.media
        if not pieces:
            await self._remove_draft(row)
        for n in range(row.chunks_sent, len(pieces)):
            async with self.pace.message(reply.address):
                await self._mark(row, n)
                receipt = await self._piece(row, n, pieces[n])
            if n + 1 < len(pieces):
                await self.outbox.sent_chunks(reply.id, n + 1, receipt=receipt)
                self._on_the_wire.discard(asyncio.current_task())
        return receipt

    async def _mark(self, row: OutboxRow, n: int) -> None:
        """Record that the chunk may have arrived from here on. Raise _NotOurs when it must not be
        sent."""
        if self._closing:
            raise _NotOurs
        reply, left_over = row.reply, row.state == "sending" and n == row.chunks_sent
        screen = self._looks(reply.address.platform)
        behind = screen.end_of(reply.address) if screen is not None else ""
        if _in_doubt(row) and n == row.chunks_sent:
            behind = row.behind
        if not await self.outbox.sending(
            reply.id, node=self.node, chunk=n, behind=behind, mine=left_over
        ):
            raise _NotOurs
        self._on_the_wire.add(asyncio.current_task())

    async def _remove_draft(self, row: OutboxRow) -> None:
        """Remove the draft of a reply without text."""
        address = row.reply.address
        screen = self.screens.get(address.platform)
        async with self.pace.message(address):
            await self._mark(row, row.chunks_sent)
            if screen is not None and (draft := await self._draft_of(row.reply, screen)):
                await screen.remove(address, draft)

    async def _piece(self, row: OutboxRow, n: int, piece: str | Media) -> str:
        reply, key = row.reply, f"{row.reply.id}.{n}"
        platform = reply.address.platform
        screen = self.screens.get(platform)
        if isinstance(piece, Media):
            content, manifest = await self.media.get(piece), self.channels[platform].manifest
            if screen is not None and content is not None and not _is_large(manifest, content):
                return await self._attach(row, n, piece, content, screen)
            piece = self._instead_of(piece, platform, content if screen is not None else b"")
        elif (
            n == 0 and screen is not None and (draft := await self._draft_of(reply, screen, piece))
        ):
            try:
                return await screen.change(reply, draft, piece)
            except ChannelRefused:
                pass  # the draft is gone: the answer comes as a message of its own
        channel = self.channels[platform]
        if not self._doubts(row, n):
            return await channel.send(reply, piece, key=key)
        mark = "".join(channel.render(REPEAT))
        marked = f"{mark}\n\n{piece}"
        if found := await self._found(row, (piece, marked)):
            return found
        if len(marked) <= channel.manifest.text_chars_max:
            return await channel.send(reply, marked, key=key)
        await channel.send(reply, mark, key=f"{key}.mark")
        return await channel.send(reply, piece, key=key)

    async def _draft_of(self, reply: Reply, screen: Screen, *instead: str) -> str:
        """Return the receipt of the draft that the reply replaces. If its process died while it was
        begun, look for it, also as the reply that may have replaced it."""
        unseen, address = reply.unseen, reply.address
        if reply.replaces or unseen is None:
            return reply.replaces
        if (drawn := self.drawn.get(unseen.turn)) is not None:
            return drawn
        if self._looks(address.platform) is None:
            return ""
        chunks = (screen.draft_text(unseen.text), *instead)
        known = partial(self.outbox.has_receipt, address.platform, address.chat)
        return await screen.find(address, chunks, behind=unseen.behind, known=known)

    async def _found(self, row: OutboxRow, chunks: Sequence[str]) -> str:
        """Look for a chunk whose receipt was lost. Return its receipt, or ""."""
        address, behind = row.reply.address, row.receipt or row.behind
        screen = self._looks(address.platform)
        if screen is None or not behind:
            return ""
        known = partial(self.outbox.has_receipt, address.platform, address.chat)
        return await screen.find(address, chunks, behind=behind, known=known)

    def _doubts(self, row: OutboxRow, n: int) -> bool:
        """Return True if this piece may have arrived and no key tells the platform that it is the
        same."""
        manifest = self.channels[row.reply.address.platform].manifest
        forgotten = 0 < manifest.key_s < self.clock() - row.created_at
        unknown = forgotten or manifest.on_doubt != "same_key"
        return _in_doubt(row) and n == row.chunks_sent and unknown

    def _looks(self, platform: str) -> Screen | None:
        """Return the screen to look at, if lost receipts are looked for there: without keys, or
        with keys that the platform forgets."""
        manifest = self.channels[platform].manifest
        looks = manifest.on_doubt == "look" or manifest.key_s > 0
        return self.screens.get(platform) if looks else None

    async def _attach(
        self, row: OutboxRow, n: int, media: Media, content: bytes, screen: Screen
    ) -> str:
        reply, key = row.reply, f"{row.reply.id}.{n}"
        if not self._doubts(row, n):
            return await screen.attach(reply, media, content, key=key)
        address, behind = reply.address, row.receipt or row.behind
        if behind and self._looks(address.platform) is not None:
            known = partial(self.outbox.has_receipt, address.platform, address.chat)
            found = await screen.find_file(
                address, media, len(content), key=key, behind=behind, known=known
            )
            if found:
                return found
        return await screen.attach(reply, media, content, key=key, caption=REPEAT)

    def _instead_of(self, media: Media, platform: str, content: bytes | None) -> str:
        manifest = self.channels[platform].manifest
        why = "is no longer stored" if content is None else "cannot be sent here"
        if content is not None and _is_large(manifest, content):
            most = manifest.file_bytes_max // 1_000_000
            why = f"has {len(content) / 1e6:.0f} MB; at most {most} MB can be sent here"
        text = f"(The file {media.name or media.digest} {why}.)"
        return "".join(self.channels[platform].render(text))
