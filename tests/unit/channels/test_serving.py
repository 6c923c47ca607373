"""The server under many connections, and over TLS."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from hermes.channels.reach import Reach, Tls
from hermes.channels.serving import CONNECTIONS_MIN, authority_of, server_config

WAIT_S = 10.0


@contextlib.asynccontextmanager
async def serving(reach: Reach | None = None) -> AsyncIterator[int]:
    app = PlainTextResponse("here")
    config = server_config(app, reach or Reach(), connections_max=1, keep_alive_s=60, backlog=100)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    listener = socket.create_server(("127.0.0.1", 0))
    await server.startup(sockets=[listener])
    try:
        yield int(listener.getsockname()[1])
    finally:
        await server.shutdown(sockets=[listener])


async def test_who_says_nothing_gives_way_to_who_asks() -> None:
    async with serving() as port, contextlib.AsyncExitStack() as open_:
        silent = []
        for _ in range(CONNECTIONS_MIN + 20):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            open_.callback(writer.close)
            silent.append(reader)
        async with httpx2.AsyncClient(verify=False, timeout=WAIT_S) as http:
            for _ in range(3):
                assert (await http.get(f"http://127.0.0.1:{port}/")).text == "here"
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(silent[0].read(), WAIT_S) == b"", "the oldest had to go"
        assert not silent[-1].at_eof()


async def test_requests_that_come_together_are_answered_in_order() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        one = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
        writer.write((one + b"\r\n") * 5 + one + b"Connection: close\r\n\r\n")
        raw = await asyncio.wait_for(reader.read(), WAIT_S)
        assert raw.count(b"HTTP/1.1 200") == 6
        writer.close()


@pytest.mark.parametrize(
    ("target", "authority"),
    [
        (b"/v1/models", None),
        (b"/http://evil.test/", None),
        (b"*", None),
        (b"http://a:1/x", b"a:1"),
        (b"http://a?b/c", b"a"),
        (b"HTTP://a#b", b"a"),
        (b"http://", b""),
        (b"ftp://user@a/x", b"user@a"),
    ],
)
def test_a_request_line_may_name_a_host(target: bytes, authority: bytes | None) -> None:
    assert authority_of(target) == authority


async def test_with_a_certificate_it_speaks_tls_and_nothing_else(tmp_path: Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    words = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)  # noqa: ASYNC221
    tls = Tls(str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))
    trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with (
        serving(Reach(tls=tls)) as port,
        httpx2.AsyncClient(verify=trust, timeout=WAIT_S) as http,
    ):
        assert (await http.get(f"https://localhost:{port}/")).text == "here"
        with pytest.raises(httpx2.TransportError):
            await http.get(f"http://localhost:{port}/")
