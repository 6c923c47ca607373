"""A proxy for who can be told no other address of the Bot API: it ends the TLS and leads to ours.

The authority that vouches for it is made for the run, in a folder that goes away; the program is
told of it by SSL_CERT_FILE, as one does behind a company's proxy.
"""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from pathlib import Path

from bench.peers.base import NotHere

HOST = "api.telegram.org"


def vouched(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A certificate for that name. Raises NotHere without an openssl to make it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise NotHere("there is no openssl to make a certificate with")
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    words += ["-keyout", str(key), "-out", str(cert)]
    subprocess.run(words, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


class Tunnel:
    """CONNECT to anywhere ends at the double's port."""

    def __init__(self, target: int, context: ssl.SSLContext) -> None:
        self._target = target
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> "Tunnel":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await writer.start_tls(self._context)
            inner, outer = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(_pour(reader, outer), _pour(inner, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # whoever it was is gone
        finally:
            self._tasks.discard(task)
            writer.close()


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
    with contextlib.suppress(OSError, RuntimeError):
        sink.close()
