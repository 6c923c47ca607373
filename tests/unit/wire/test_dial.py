"""TLS with authorities of our own, and proxies that pass on, refuse or talk nonsense."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from hermes.wire.faults import Unreachable, Unsendable
from hermes.wire.http import Client
from tests.unit.providers.servers import HANG, Server, head
from tests.unit.wire.proxies import PASS, Passing

OK = head(content_length="2") + b"ok"
FAR = "http://192.0.2.1/v1"  # nobody's: an address for documentation


@contextlib.asynccontextmanager
async def using(
    url: str, proxies: Mapping[str, str] | None = None, connect_s: float = 10.0
) -> AsyncIterator[Client]:
    http = Client(url, {}, proxies=proxies or {}, connect_s=connect_s, write_s=10.0)
    try:
        yield http
    finally:
        http.close()
        await asyncio.sleep(0.02)


async def said(http: Client) -> bytes:
    async with asyncio.timeout(30), http.exchange("POST", "/x", b"{}") as response:
        return b"".join([piece async for piece in response])


@pytest.mark.parametrize("text", [None, "no certificate"])
async def test_authorities_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    named = tmp_path / "bundle.pem"
    if text is not None:
        named.write_text(text, encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(named))
    async with using("https://127.0.0.1:1") as http:
        with pytest.raises(Unsendable, match=f"SSL_CERT_FILE={named}"):
            await said(http)


@pytest.mark.usefixtures("trusting")
async def test_a_server_whose_authority_is_trusted_is_spoken_to(secure: ssl.SSLContext) -> None:
    big = b"x" * 3_000_000
    play = [head(content_length=str(len(big))) + big]
    async with Server([[OK], play], tls=secure) as server, using(server.url) as http:
        assert await said(http) == b"ok"
        assert await said(http) == big
    assert server.connections == 1


async def test_a_server_that_nobody_vouches_for_is_not_spoken_to(secure: ssl.SSLContext) -> None:
    async with Server([[OK]], tls=secure) as server, using(server.url) as http:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await said(http)
    assert server.taken == []


@pytest.mark.usefixtures("trusting")
async def test_a_certificate_for_another_name_is_not_taken(secure: ssl.SSLContext) -> None:
    async with (
        Server([[OK]], tls=secure) as server,
        using(f"https://127.0.0.1:{server.port}") as http,
    ):
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await said(http)
    assert server.taken == []


async def test_a_server_that_speaks_no_tls_is_unreachable_by_it() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with using(f"https://localhost:{port}") as http:
            with pytest.raises(Unreachable):
                await said(http)


@pytest.mark.usefixtures("trusting")
async def test_cancelling_closes_a_tls_connection_at_once(secure: ssl.SSLContext) -> None:
    async with Server([[HANG]], tls=secure) as server, using(server.url) as http:
        asking = asyncio.create_task(said(http))
        await asyncio.wait_for(server.asked.wait(), 30)
        asking.cancel()
        await asyncio.wait([asking])
        await asyncio.wait_for(server.gone.wait(), 30)


async def test_a_plain_request_goes_to_the_proxy_with_its_whole_url() -> None:
    async with Server([[OK]]) as proxy:
        proxies = {"http": f"http://me:word@127.0.0.1:{proxy.port}"}
        async with using(FAR, proxies) as http:
            assert await said(http) == b"ok"
            assert await said(http) == b"ok"
    assert proxy.connections == 1
    taken = proxy.taken[0]
    assert taken.line == "POST http://192.0.2.1/v1/x HTTP/1.1"
    assert taken.headers["host"] == "192.0.2.1"
    words = base64.b64encode(b"me:word").decode().lower()
    assert taken.headers["proxy-authorization"] == f"basic {words}"


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("secured", [False, True])
async def test_tls_goes_through_a_tunnel_that_the_proxy_opens(
    secure: ssl.SSLContext, secured: bool
) -> None:
    tls = secure if secured else None
    async with Server([[OK]], tls=secure) as server, Passing(server.port, PASS, tls) as proxy:
        place = f"http{'s' if secured else ''}://me:word@localhost:{proxy.port}"
        async with using(server.url, {"https": place}) as http:
            assert await said(http) == b"ok"
            assert await said(http) == b"ok"
    assert server.connections == 1
    (opening,) = proxy.heads
    assert opening.startswith(f"CONNECT localhost:{server.port} HTTP/1.1\r\n")
    assert "proxy-authorization: Basic " in opening
    assert "proxy-authorization" not in server.taken[0].headers


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "it answered 407 Who are you"),
        (b"SSH-2.0\r\n\r\n", "it answered SSH-2.0"),
        (b"", "it did not answer"),
        (b"x" * 200_000, "it did not answer"),
    ],
)
async def test_a_proxy_that_says_no_is_named_without_its_password(
    secure: ssl.SSLContext, greeting: bytes, why: str
) -> None:
    async with Server([[OK]], tls=secure) as server, Passing(0, greeting) as proxy:
        proxies = {"all": f"me:word@127.0.0.1:{proxy.port}"}
        async with using(server.url, proxies) as http:
            with pytest.raises(Unreachable) as told:
                await said(http)
    assert str(told.value) == f"through the proxy 127.0.0.1:{proxy.port}: {why}"
