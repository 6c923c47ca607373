"""A server on a real socket that does with each connection what a test says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

LIMIT_S = 60.0
Raw = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw(serve_one: Raw) -> AsyncIterator[int]:
    """The port. A connection stays open after `serve_one`, until the block ends."""
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await serve_one(reader, writer)

    async with asyncio.timeout(LIMIT_S), await asyncio.start_server(run, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
