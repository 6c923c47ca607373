"""The writing side of a connection: wait for a slow client (back-pressure), up to a limit."""

import asyncio
from typing import Final

STUCK_S: Final = 300.0  # for a client to read any of what it was sent


class Outlet:
    def __init__(self, transport: asyncio.Transport, stuck_s: float) -> None:
        self.write = transport.write
        self._transport, self._stuck_s = transport, stuck_s
        self._room: asyncio.Event | None = None  # set when there is room again; None while there is
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        return self._room is not None

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    async def writable(self) -> None:
        while self._room is not None:
            await self._room.wait()

    def pause(self) -> None:
        self._room = asyncio.Event()
        self._watch()

    def resume(self) -> None:
        self.end()
        if self.is_closing:
            self._watch()

    def end(self) -> None:
        """Release all waiting writers and stop the timer."""
        room, self._room = self._room, None
        if room is not None:
            room.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def shut(self) -> None:
        """Close the connection after the written bytes were sent."""
        self._transport.close()
        if self._timer is None:
            self._watch()

    def say_goodbye(self) -> None:
        """Send end-of-file. A client that is still writing can then read the answer."""
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _watch(self) -> None:
        left = self._transport.get_write_buffer_size()
        if left:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._stuck_s, self._look, left)

    def _look(self, left: int) -> None:
        self._timer = None
        if self._transport.get_write_buffer_size() < left:
            self._watch()
        else:
            self._transport.abort()
