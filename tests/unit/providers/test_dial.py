"""TLS with authorities of our own, and proxies that pass on, refuse or talk nonsense."""

import asyncio
import base64
import contextlib
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from hermes.core.errors import ProviderRefused, ProviderSilent
from hermes.egress.faults import Unreachable, Unsendable
from hermes.providers.build import build
from hermes.providers.http import Client
from hermes.providers.settings import ModelSettings
from tests.unit.providers.asking import ONCE
from tests.unit.providers.recordings import HELLO, OPENAI, OPENAI_TEXT
from tests.unit.providers.servers import HANG, Server, chunked, head

OK = head(content_length="2") + b"ok"
FAR = "http://192.0.2.1/v1"  # nobody's: an address for documentation


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a certificate for localhost that only those trust who are told to."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("authority")
    words = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def secure(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "cert.pem", authority / "key.pem")
    return context


@pytest.fixture
def trusting(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "cert.pem"))


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


PASS = b"HTTP/1.1 200 Go on\r\n\r\n"


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
        (b"", "it gave no answer"),
        (b"x" * 200_000, "it gave no answer"),
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
    assert str(told.value) == f"by the proxy 127.0.0.1:{proxy.port}: {why}"


async def test_the_proxy_of_the_environment_is_used_and_no_proxy_spares_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Server([[chunked(OPENAI)]]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "elsewhere.example")
        settings = ModelSettings(provider="custom", base_url=FAR, name="m", patience=ONCE)
        chain = build(settings, {})
        answer = await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
    assert answer.text == OPENAI_TEXT
    assert proxy.taken[0].line.startswith("POST http://192.0.2.1/v1/chat/completions ")


async def test_a_proxy_that_is_away_or_of_another_kind_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = ModelSettings(provider="custom", base_url=FAR, name="m", patience=ONCE)
    monkeypatch.setenv("no_proxy", "")
    for proxy, kind, text in (
        ("http://me:word@127.0.0.1:9", ProviderSilent, "by the proxy 127.0.0.1:9"),
        ("socks5://me:word@127.0.0.1:9", ProviderRefused, "a proxy of the kind socks5"),
    ):
        monkeypatch.setenv("http_proxy", proxy)
        chain = build(settings, {})
        with pytest.raises(kind, match=text) as told:
            await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
        assert "word" not in str(told.value)
