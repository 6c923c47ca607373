"""Take the messages of one chat one after the other, and chats in parallel."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


async def take_in_order(
    items: Iterable[T], chat_of: Callable[[T], Hashable], take: Callable[[T], Awaitable[None]]
) -> None:
    """Take a whole batch. Raise what kept one from being stored, when all others have ended."""
    by_chat: dict[Hashable, list[T]] = {}
    for item in items:
        by_chat.setdefault(chat_of(item), []).append(item)

    async def one_chat(some: list[T]) -> None:
        for item in some:
            await take(item)

    tasks = [asyncio.create_task(one_chat(some)) for some in by_chat.values()]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class ChatLocks:
    """One lock for each chat, for messages that arrive in separate requests."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, chat: Hashable) -> asyncio.Lock:
        return self._locks.setdefault(chat, asyncio.Lock())
