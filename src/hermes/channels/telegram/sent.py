"""Which messages of a chat are ours, so that a send of unknown fate can be found again (C51).

Telegram knows no keys, but it counts the messages of a chat upward, and lets a bot edit its own.
Before something is sent, the highest number known there is written down; what came of it has one
of the next numbers, and is none of those that we know. Only for who sends alone: what another node
has sent is not known here.
"""

import msgspec
from msgspec import Struct

from hermes.channels.telegram.memory import Memory

KIND = "sent"
WINDOW = 8  # numbers behind the highest: others of a private bot's chats are counted with them
KNOWN_MAX = 64
CHATS_MAX = 2_000


class Trace(Struct):
    """Of one chat. `floor` is the highest number before the send under `key` began."""

    known: list[int] = []
    key: str = ""
    floor: int = 0


class Sent:
    def __init__(self, memory: Memory, *, alone: bool) -> None:
        self._memory = memory
        self._alone = alone
        self._heard: dict[str, int] = {}
        self._traces: dict[str, Trace] = {}

    def heard(self, chat: str, message: int) -> None:
        """Somebody wrote there."""
        if len(self._heard) >= CHATS_MAX:
            self._heard.clear()
        self._heard[chat] = max(message, self._heard.get(chat, 0))

    async def begins(self, chat: str, key: str) -> None:
        trace = await self._trace(chat)
        trace.key, trace.floor = key, max(self._heard.get(chat, 0), *trace.known, 0)
        await self._keep(chat, trace)

    async def ends(self, chat: str, message: int) -> None:
        """It is ours, and known: whatever is in doubt later is another one."""
        trace = await self._trace(chat)
        trace.known = [*trace.known, message][-KNOWN_MAX:]
        await self._keep(chat, trace)

    async def perhaps(self, chat: str, key: str) -> list[int]:
        """What the send under this key may have become. The latest come first: before it, there
        may be a draft that nobody knows."""
        trace = await self._trace(chat)
        if trace.key != key or not trace.floor:
            return []
        numbers = range(trace.floor + WINDOW, trace.floor, -1)
        return [number for number in numbers if number not in trace.known]

    async def _trace(self, chat: str) -> Trace:
        if chat not in self._traces:
            kept = await self._memory.get(KIND, chat) if self._alone else ""
            if len(self._traces) >= CHATS_MAX:
                self._traces.clear()
            try:
                self._traces.setdefault(chat, msgspec.json.decode(kept or "{}", type=Trace))
            except msgspec.MsgspecError:
                self._traces.setdefault(chat, Trace())
        return self._traces[chat]

    async def _keep(self, chat: str, trace: Trace) -> None:
        if not self._alone:
            self._traces.pop(chat, None)
        elif not await self._memory.put(KIND, chat, msgspec.json.encode(trace).decode()):
            trace.key = ""  # what a crash would not find is not looked for
