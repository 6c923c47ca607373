"""Read what a channel missed while it was away, and tell the owner what was left out.

`MissedBacklog` decides (pure); `CatchUp` reads, takes and tells (I/O). What is left out is always
the oldest part of a chat, so one position says where it ends. It is counted in a cursor of its own
before the chat's cursor passes it: a crash neither loses the count nor tells it twice.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.channels.kit.arrival import Arrival
from hermes.channels.kit.watermark import Watermark
from hermes.core.channel import ChannelHost
from hermes.core.directory import HOME, UNREAD, relay, target_of
from hermes.core.errors import ChannelRefused
from hermes.core.people import derived, sender_of
from hermes.text.visible_text import visible_text

DAYS_MAX = 7
MESSAGES_MAX = 500  # of one chat
DAY_S = 24 * 3600.0
CHATS_A_NOTICE = 50  # a notice is kept in one cursor until the owner has it
NAMED_MAX = 10  # chats that a notice names; the others are summed up
NAME_CHARS_MAX = 60
CHATS_MAX = 1_000  # that are looked through for the home chat's session
ROOM_S, ROOM_TRIES = 1.0, 90  # until a person may be heard again; a limit is one of a minute
COUNT, NOTICE = "left-out:", "left-out"  # names of our cursors; the first one has a chat's behind

T = TypeVar("T", bound=Struct)

log = logging.getLogger("hermes.channels")


class MissedMessage(Struct, frozen=True):
    """One message of a chat's history. `arrival` is None for one that is not for us: our own, or
    a group's talk among its people."""

    position: str
    at: float
    arrival: Arrival | None


class MissedChat(Struct, frozen=True):
    """A chat to read. `cursor` is the name of the cursor that the channel keeps for it."""

    cursor: str
    name: str  # for people


class History(Protocol):
    """What the catch-up asks of the platform's client."""

    async def after(self, chat: MissedChat, position: str) -> Sequence[MissedMessage]:
        """Return the next page of the chat behind that position, oldest first; empty at the end.
        Raise ChannelRefused when the platform does not show this chat, ChannelDown when it cannot
        be reached."""


class LeftOut(Struct, frozen=True, omit_defaults=True):
    """How many messages of a chat were left out so far, and where the last of them stands."""

    count: int = 0
    through: str = ""
    name: str = ""


class LeftOutNotice(Struct, frozen=True):
    """What the owner is told, under an id that a crash does not change, about these chats."""

    id: str
    text: str
    cursors: tuple[str, ...]


class MissedBacklog(Struct, kw_only=True):
    """Of one chat: keep the newest `most` messages since `since`, and count those before them."""

    since: float
    most: int = MESSAGES_MAX
    kept: deque[MissedMessage] = field(default_factory=deque)
    left_out: int = 0
    through: str = ""  # every message up to here is counted, or not for us
    end: str = ""  # the last position that was read

    def add(self, page: Sequence[MissedMessage]) -> None:
        for message in page:
            self.end = message.position
            if message.arrival is None:
                continue
            if message.at < self.since and not self.kept:
                self._leave_out(message)
                continue
            self.kept.append(message)
            if len(self.kept) > self.most:
                self._leave_out(self.kept.popleft())

    def _leave_out(self, message: MissedMessage) -> None:
        self.left_out += 1
        self.through = message.position


class CatchUp(Struct, frozen=True, kw_only=True):
    """Of one connection. Run it before the live messages of these chats move their cursors: a
    message that comes both ways is stored once, but a cursor must not jump over what was missed
    (C70)."""

    host: ChannelHost
    account: str
    platform: str  # its name for people
    history: History
    take: Callable[[Arrival], Awaitable[object]]  # `Reception.take`
    days_max: float = DAYS_MAX
    messages_max: int = MESSAGES_MAX

    async def run(self, chats: Sequence[MissedChat]) -> None:
        """Read all of them, then tell the owner once. A chat without a cursor is new: nothing of
        it was missed. Raise StoreFailed or ChannelDown; the next run reads on from there."""
        await self._tell_pending()
        for chat in chats:
            try:
                await self._read(chat)
            except ChannelRefused as refused:
                log.warning("%s: could not read %s: %s", self.platform, chat.name, refused)
        for start in range(0, len(chats), CHATS_A_NOTICE):
            await self._tell(chats[start : start + CHATS_A_NOTICE])

    async def _read(self, chat: MissedChat) -> None:
        position = await self.host.cursor(self.account, chat.cursor)
        if not position:
            return
        counted = await self._counted(chat.cursor)
        since = self.host.clock() - self.days_max * DAY_S
        backlog = MissedBacklog(
            since=since, most=self.messages_max, end=counted.through or position
        )
        while page := await self.history.after(chat, at := backlog.end):
            before = backlog.left_out
            backlog.add(page)
            if backlog.left_out > before:  # a crash goes on behind what is counted
                count = counted.count + backlog.left_out
                await self._count(chat.cursor, LeftOut(count, backlog.through, chat.name))
            if backlog.end == at:
                break
        if passed := backlog.through or counted.through:
            await self._move(chat.cursor, passed)
            total = counted.count + backlog.left_out
            await self._count(chat.cursor, LeftOut(total, "", chat.name))
        await self._take(chat, backlog)

    async def _take(self, chat: MissedChat, backlog: MissedBacklog) -> None:
        """Oldest first. The cursor follows each message that was stored."""
        mark = Watermark()
        for message in backlog.kept:
            mark.begin(message.position)
        for message in backlog.kept:
            if message.arrival is not None:
                await self._room_for(message.arrival)
                await self.take(message.arrival)
            await self._move(chat.cursor, mark.end(message.position))
        await self._move(chat.cursor, backlog.end)

    async def _room_for(self, arrival: Arrival) -> None:
        """Wait until the rate limit of this person has room: a missed message is not a flood."""
        for _ in range(ROOM_TRIES):
            if self.host.patient(sender_of(arrival.inbound)):
                return
            await asyncio.sleep(ROOM_S)

    async def _tell(self, chats: Sequence[MissedChat]) -> None:
        """Without a home chat the counts stay, and are told when there is one."""
        found = [(chat.cursor, await self._counted(chat.cursor)) for chat in chats]
        due = [(cursor, each) for cursor, each in found if each.count and not each.through]
        if not due or not await self.host.store.library.homes():
            return
        counts = [left_out for _, left_out in due]
        text = notice_text(self.platform, counts, days=self.days_max, messages=self.messages_max)
        notice = LeftOutNotice(self.host.new_id(), text, tuple(cursor for cursor, _ in due))
        await self._move(NOTICE, msgspec.json.encode(notice).decode())
        await self._tell_pending()

    async def _tell_pending(self) -> None:
        """Tell what is written down to be told. Each step may be done twice without harm."""
        notice = _decoded(await self.host.cursor(self.account, NOTICE), LeftOutNotice("", "", ()))
        library, at = self.host.store.library, self.host.clock()
        homes = await library.homes()
        if notice.id and homes:
            target = target_of(HOME, await library.chats(limit=CHATS_MAX), homes)
            said = relay(target, notice.text, account="catch-up", id_=notice.id, at=at)
            await self.host.accept(derived(replace(said, labels=(UNREAD,))))
            for cursor in notice.cursors:
                await self._move(COUNT + cursor, "")
        if notice.id:
            await self._move(NOTICE, "")

    async def _counted(self, cursor: str) -> LeftOut:
        return _decoded(await self.host.cursor(self.account, COUNT + cursor), LeftOut())

    async def _count(self, cursor: str, left_out: LeftOut) -> None:
        await self._move(COUNT + cursor, msgspec.json.encode(left_out).decode())

    async def _move(self, cursor: str, position: str) -> None:
        await self.host.move_cursor(self.account, cursor, position)


def notice_text(platform: str, chats: Sequence[LeftOut], *, days: float, messages: int) -> str:
    """Say how much was left out, where, and why."""
    total = sum(chat.count for chat in chats)
    lines = [
        f"I was away from {platform}, and {_messages(total)} waited longer than I read back.",
        f"I read the last {days:g} days, at most {messages:,} messages a chat. Not read:",
        *(f"• {_name(chat.name)}: {_messages(chat.count)}" for chat in chats[:NAMED_MAX]),
    ]
    if rest := sum(chat.count for chat in chats[NAMED_MAX:]):
        lines.append(f"• {len(chats) - NAMED_MAX} more chats: {_messages(rest)}")
    return "\n".join([*lines, "If one of them mattered, please send it again."])


def _decoded(kept: str, default: T) -> T:
    """Return what a cursor of ours holds, or the default for one that is empty or unreadable."""
    try:
        return msgspec.json.decode(kept, type=type(default)) if kept else default
    except msgspec.MsgspecError as unreadable:
        log.warning("a count of missed messages cannot be read and is dropped: %s", unreadable)
        return default


def _messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"


def _name(name: str) -> str:
    """Anyone can name a chat: show one line, and not a long one."""
    return " ".join(visible_text(name).split())[:NAME_CHARS_MAX]
