"""A proxy on a real socket."""

import asyncio
import contextlib
import ssl

PASS = b"HTTP/1.1 200 Go on\r\n\r\n"


class Passing:
    """A proxy that opens tunnels to one port, whatever it is asked for."""

    def __init__(self, port: int, greeting: bytes, tls: ssl.SSLContext | None = None) -> None:
        self._port, self._greeting, self._tls = port, greeting, tls
        self.heads: list[str] = []

    async def __aenter__(self) -> "Passing":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(self._greeting)
            if b" 200" in self._greeting:
                there, onward = await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    await asyncio.gather(_pump(reader, onward), _pump(there, writer))
                finally:
                    onward.close()
        finally:
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()
