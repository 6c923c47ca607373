"""NET-3 and NET-4, over real sockets: redirects, what a request carries, sizes and times."""

import asyncio
import contextlib
import gzip
import shutil
import ssl
import subprocess
import zlib
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from hermes.egress.addresses import Address
from hermes.egress.client import Fetcher, FetchLimits, Page, dialled
from hermes.egress.rules import EgressRules, openings
from hermes.wire.faults import Blocked, Broken, HttpFailed, TooMuch, Unreachable
from hermes.wire.line import FetchConnection
from hermes.wire.origin import UrlOrigin
from tests.attacks.web import Names, fetcher, sockets_seen
from tests.unit.providers.servers import DROP, HANG, Play, Server, chunk, head, plain

CHUNKED = head(content_type="text/plain", transfer_encoding="chunked")
SMALL = FetchLimits(body_bytes=100_000)


@contextlib.asynccontextmanager
async def site(
    *plays: Play, limits: FetchLimits | None = None
) -> AsyncIterator[tuple[Server, Fetcher]]:
    """Serve site.test on loopback; only this server and its port are allowed."""
    async with Server(plays) as server:
        names = Names({"site.test": [["127.0.0.1"]]})
        yield server, fetcher(names, f"site.test:{server.port}", limits=limits)


async def read(*plays: Play, limits: FetchLimits | None = None) -> Page:
    async with site(*plays, limits=limits) as (server, client), asyncio.timeout(60):
        return await client.fetch(f"http://site.test:{server.port}/page?x=1#part")


def away(location: str, status: int = 302) -> bytes:
    return head(status, location=location, content_length="0", set_cookie="id=1")


async def test_net_03_a_request_carries_its_url_and_nothing_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with site([plain(b"hello")]) as (server, client):
        page = await client.fetch(f"http://site.test:{server.port}/a b".replace(" ", "%20"))
    assert (page.status, page.body) == (200, b"hello")
    [taken] = server.taken
    assert taken.line == "GET /a%20b HTTP/1.1"
    assert taken.headers["host"] == f"site.test:{server.port}"
    assert taken.headers.keys() == {
        *("host", "user-agent", "accept", "accept-encoding", "connection"),
    }


async def test_net_03_redirects_are_followed_without_cookies_up_to_five() -> None:
    hops: list[Play] = [[away("/next")], [away("b", 307)], [away("?q=1", 301)], [away("/", 308)]]
    async with site(*hops, [away("/last", 303)], [plain(b"end")]) as (server, client):
        page = await client.fetch(f"http://site.test:{server.port}/a")
    assert (page.body, page.url) == (b"end", f"http://site.test:{server.port}/last")
    assert [taken.line.split()[1] for taken in server.taken] == [
        *("/a", "/next", "/b", "/b?q=1", "/", "/last"),
    ]
    assert not any({"cookie", "authorization", "referer"} & t.headers.keys() for t in server.taken)


async def test_net_03_a_sixth_redirect_and_a_circle_are_too_many() -> None:
    with pytest.raises(TooMuch, match="5 redirects"):
        await read([away("/page")])


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "//127.0.0.1:8080/",
        "file:///etc/passwd",
        "gopher://site.test/",
        "http://user:word@site.test/",
        "http://metadata.google.internal/",
        "http://0x7f000001/",
        "http://inside.test/",
        "http://site.test:22/",
        "http://[::ffff:127.0.0.1]/",
        "\thttp://127.0.0.1/",
        "http://127.0.0.1\\@example.com/",
    ],
)
async def test_net_03_a_redirect_is_judged_as_the_first_url_was(location: str) -> None:
    with sockets_seen() as seen, pytest.raises(HttpFailed) as failed:
        await read([away(location)])
    assert isinstance(failed.value, Blocked | Broken)
    assert len(seen) == 1, "only the first request"


async def test_net_03_from_the_world_no_redirect_leads_to_what_the_owner_opened() -> None:
    async with Server([[plain(b"own")]]) as wiki, Server([[away("http://wiki.lan/")]]) as world:
        ports = {"wiki.lan": wiki.port, "world.test": world.port}

        async def dial(
            server: UrlOrigin, _: Address, trust: ssl.SSLContext | None
        ) -> FetchConnection:
            place = UrlOrigin(False, server.host, ports[server.host])
            return await dialled(place, IPv4Address("127.0.0.1"), trust)

        names = Names({"world.test": [["93.184.216.34"]], "wiki.lan": [["10.0.0.5"]]})
        client = Fetcher(EgressRules(openings(["wiki.lan"])), resolve=names, dial=dial)
        assert (await client.fetch("http://wiki.lan/")).inside
        with pytest.raises(Blocked, match="wiki"):
            await client.fetch("http://world.test/")
    assert (len(wiki.taken), len(world.taken)) == (1, 1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate for site.test, trusted only by clients that are given it."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("authority")
    words = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=site.test", "-addext", "subjectAltName=DNS:site.test"]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


@contextlib.asynccontextmanager
async def secure(authority: Path, *plays: Play) -> AsyncIterator[tuple[Server, Fetcher, list[str]]]:
    told: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "cert.pem", authority / "key.pem")
    context.sni_callback = lambda _socket, name, _context: told.append(name)
    async with Server(plays, tls=context) as server:
        allowed = openings([f"{name}:{server.port}" for name in ("site.test", "other.test")])
        client = Fetcher(
            EgressRules(allowed),
            resolve=Names(),
            trust=lambda: ssl.create_default_context(cafile=authority / "cert.pem"),
        )
        yield server, client, told


async def test_net_03_tls_hears_the_name_though_the_socket_got_a_number(authority: Path) -> None:
    async with secure(authority, [plain(b"safe")]) as (server, client, told):
        page = await client.fetch(f"https://site.test:{server.port}/")
        assert (page.body, told) == (b"safe", ["site.test"])
        with pytest.raises(Unreachable, match="certificate"):
            await client.fetch(f"https://other.test:{server.port}/")


async def test_net_03_https_is_not_left_for_http(authority: Path) -> None:
    async with secure(authority, [away("http://site.test/")]) as (server, client, _told):
        with pytest.raises(Blocked, match="https"):
            await client.fetch(f"https://site.test:{server.port}/")


async def test_net_04_a_body_may_have_its_limit_and_not_one_byte_more() -> None:
    whole = b"x" * SMALL.body_bytes
    assert (await read([plain(whole)], limits=SMALL)).body == whole
    with pytest.raises(TooMuch, match="100,000 bytes"):
        await read([plain(whole + b"x")], limits=SMALL)
    with pytest.raises(TooMuch):
        await read([CHUNKED + chunk(whole) + chunk(b"x"), HANG], limits=SMALL)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "raw"])
async def test_net_04_what_is_packed_is_unpacked(coding: str) -> None:
    raw = zlib.compressobj(wbits=-15)
    packed = {"deflate": zlib.compress(b"hi" * 99), "raw": raw.compress(b"hi" * 99) + raw.flush()}
    body = packed.get(coding, gzip.compress(b"hi" * 50) + gzip.compress(b"hi" * 49))
    name = "deflate" if coding == "raw" else coding
    assert (await read([plain(body, content_encoding=name)])).body == b"hi" * 99


async def test_net_04_a_bomb_goes_off_at_the_limit() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert len(bomb) < SMALL.body_bytes
    with pytest.raises(TooMuch, match="100,000 bytes"):
        await read([plain(bomb, content_encoding="gzip")], limits=SMALL)
    many = gzip.compress(b"") * 2_000
    with pytest.raises(Broken, match="parts"):
        await read([plain(many, content_encoding="gzip")], limits=SMALL)


@pytest.mark.parametrize(
    ("play", "fault"),
    [
        ([head(content_length="9") + b"short", DROP], Broken),
        ([head(content_length="99999999999999999999") + b"x", HANG], HttpFailed),
        ([head(content_length="5000000") + b"x", HANG], TooMuch),
        ([head(content_length="1", transfer_encoding="chunked") + b"0\r\n\r\n"], Broken),
        ([plain(b"not gzip", content_encoding="gzip")], Broken),
        ([plain(gzip.compress(b"abc" * 999)[:-9], content_encoding="gzip")], Broken),
        ([plain(b"x", content_encoding="br")], Broken),
        ([plain(b"x", content_encoding="gzip, gzip")], Broken),
        ([CHUNKED + b"zz\r\n", HANG], Broken),
        ([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, HANG], Broken),
        ([b"SSH-2.0-x\r\n", HANG], Broken),
        ([DROP], Broken),
    ],
)
async def test_net_04_a_server_that_lies_ends_in_an_error(
    play: Play, fault: type[HttpFailed]
) -> None:
    with pytest.raises(fault) as failed:
        await read(play, limits=SMALL)
    assert str(failed.value)


@pytest.mark.parametrize(
    "play",
    [
        [HANG],
        [b"HTTP/1.1 200 OK\r\n", HANG],
        [CHUNKED, *[step for _ in range(500) for step in (chunk(b"x"), 0.02)]],
        [head(100), HANG],
    ],
)
async def test_net_04_a_drip_ends_when_the_time_is_up(play: Play) -> None:
    with pytest.raises(TooMuch, match="longer than"):
        await read(play, limits=FetchLimits(total_s=0.3))


async def test_net_04_what_comes_after_the_end_is_nobodys() -> None:
    assert (await read([head(content_length="2") + b"longer"])).body == b"lo"


async def test_net_04_an_endless_body_ends_at_the_limit() -> None:
    endless = [CHUNKED, *[chunk(b"x" * 1_000)] * 2_000, HANG]
    with pytest.raises(TooMuch):
        await read(endless, limits=SMALL)


@pytest.mark.parametrize(
    ("body", "said", "kind"),
    [
        (b"<!doctype html><p>x", "application/octet-stream", "html"),
        (b"plain words", "text/html; charset=utf-8", "html"),
        (b"\x89PNG\r\n\x1a\n", "text/html", "binary"),
        (b"%PDF-1.7", "text/plain", "binary"),
        (b"PK\x03\x04", "application/json", "binary"),
        (b'{"a": 1}', "application/json", "json"),
        (b"a\0b", "text/plain", "binary"),
        (b"words", "image/png", "text"),
    ],
)
async def test_net_04_a_body_is_what_its_bytes_say(body: bytes, said: str, kind: str) -> None:
    page = await read([plain(body, content_type=said)])
    assert page.kind == kind
