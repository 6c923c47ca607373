"""The writing side of a connection: a client that does not read is waited for, but not for ever."""

import asyncio
from typing import Final

STUCK_S: Final = 300.0  # for a client to take any of what it was sent


class Outlet:
    def __init__(self, transport: asyncio.Transport, stuck_s: float) -> None:
        self.write = transport.write
        self._transport, self._stuck_s = transport, stuck_s
        self._room: asyncio.Event | None = None  # there is, when it is set, or not there
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
        """Nobody needs to wait any more."""
        room, self._room = self._room, None
        if room is not None:
            room.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def shut(self) -> None:
        """After what has been written."""
        self._transport.close()
        if self._timer is None:
            self._watch()

    def say_goodbye(self) -> None:
        """Nothing more will be written; a client that still writes may read what was."""
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
