"""Remove the buttons of a card when its question is closed, wherever it was answered.

A press alone closes nothing, because another person may press. The state of the question decides,
and a card whose question is open keeps its buttons, also after a restart.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec
from msgspec import Struct

from hermes.channels.kit.memory import ChannelMemory
from hermes.channels.telegram.calls import BotApi
from hermes.core.errors import ChannelFailed, StoreFailed
from hermes.core.messages import Reply
from hermes.core.projection import QuestionRow

CARDS_MAX: Final = 100  # that wait for an answer; the oldest keep their buttons
CHECK_S: Final = 2.0
SOON_CHECK_S, SOON_S = 0.2, 10.0  # after a press
KIND, NAME = "cards", "open"

_ANSWER = re.compile(r"/(?:approve|deny|answer) ([0-9a-f]{32})(?: .*)?")


class Card(Struct, frozen=True):
    question: str
    chat: str
    message: int


Questions = Callable[[str], Awaitable[QuestionRow | None]]


class OpenCards:
    """The messages with buttons whose questions are open, kept in a file of the channel."""

    def __init__(self, memory: ChannelMemory, calls: BotApi) -> None:
        self._memory, self._calls = memory, calls
        self._cards: list[Card] | None = None
        self._hurry_until = 0.0
        self._news = asyncio.Event()
        self._guard = asyncio.Lock()

    async def shown(self, reply: Reply, message: int) -> None:
        """Remember a sent reply if it asks a question."""
        found = {id_ for _label, says in reply.buttons if (id_ := question_in(says))}
        new = [Card(id_, reply.address.chat, message) for id_ in sorted(found)]
        if new:
            async with self._guard:
                known = [card for card in await self._loaded() if card not in new]
                await self._keep([*known, *new][-CARDS_MAX:])
            self._news.set()

    async def pressed(self, chat: str, message: int, says: str) -> None:
        """Note that a permitted person pressed. A button that answers no question is used up."""
        if question_in(says):
            self._hurry_until = time.monotonic() + SOON_S
            self._news.set()
        else:
            await self._unbutton(chat, message)

    @contextlib.asynccontextmanager
    async def watched(self, questions: Questions) -> AsyncIterator[None]:
        """Watch the open cards until the block ends."""
        watching = asyncio.create_task(self._watch(questions))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, questions: Questions) -> None:
        while True:
            left = await self._checked(questions)
            self._news.clear()
            hurries = time.monotonic() < self._hurry_until
            wait_s = (SOON_CHECK_S if hurries else CHECK_S) if left else None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await (asyncio.sleep(SOON_CHECK_S) if hurries else self._news.wait())

    async def _checked(self, questions: Questions) -> int:
        closed = []
        for card in tuple(await self._loaded()):
            with contextlib.suppress(StoreFailed):
                row = await questions(card.question)
                if row is None or row.state != "pending":
                    closed.append(card)
        for card in closed:
            await self._unbutton(card.chat, card.message)
        async with self._guard:
            left = [card for card in await self._loaded() if card not in closed]
            if closed:
                await self._keep(left)
        return len(left)

    async def _unbutton(self, chat: str, message: int) -> None:
        with contextlib.suppress(ChannelFailed):
            await self._calls.unbutton(chat, message)

    async def _loaded(self) -> list[Card]:
        if self._cards is None:
            kept = await self._memory.get(KIND, NAME)
            try:
                self._cards = msgspec.json.decode(kept or "[]", type=list[Card])
            except msgspec.MsgspecError:
                self._cards = []
        return self._cards

    async def _keep(self, cards: list[Card]) -> None:
        self._cards = cards
        await self._memory.put(KIND, NAME, msgspec.json.encode(cards).decode())


def question_in(says: str) -> str:
    """Return the id of the question that a button answers; empty when it answers none."""
    found = _ANSWER.fullmatch(says)
    return found[1] if found is not None else ""
