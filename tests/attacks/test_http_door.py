"""WEB-1, 2, 3, 4, 9, 10: who gets in by HTTP, tried on a real gateway."""

import asyncio
import shutil
import ssl
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from hermes.channels.api.front import Front
from hermes.channels.api.routes import table
from hermes.httpd.auth_backoff import FAILURES_MAX
from hermes.testing.model import Model
from tests.attacks.wire import asked, request, sent
from tests.process.gateway import KEY, GatewayProcess, free_port, gateway

ALL = "0.0.0.0"  # noqa: S104
SECRET = "correct-horse"
ROUTE = {"ci": {"secret": SECRET}}


async def refused(here: GatewayProcess) -> str:
    """Return the error that it prints instead of starting."""
    await here.start(ready=False)
    assert await here.ended() == 78
    said = [line for line in here.output().splitlines() if line.startswith("hermes: ")]
    assert len(said) == 1
    return said[0]


@pytest.mark.parametrize(
    ("api", "key"),
    [
        ({"key": ""}, "platforms.api.key"),
        ({"key": "short"}, "platforms.api.key"),
        ({"key": "aaaaaaaaaaaaaaaa"}, "platforms.api.key"),
        ({"key": "password1"}, "platforms.api.key"),
        ({"key": "Hermes-Secret-2024!"}, "platforms.api.key"),
        ({"host": ALL, "key": ""}, "platforms.api.key"),
        ({"host": ALL}, "platforms.api.host"),
        ({"host": "::"}, "platforms.api.host"),
        ({"host": ALL, "trusted_proxies": ["0.0.0.0/0"]}, "platforms.api.trusted_proxies"),
        ({"host": ALL, "tls": {"certificate_file": "/none"}}, "platforms.api.tls.certificate_file"),
    ],
)
async def test_web_01_the_api_does_not_start_in_the_open_or_without_a_good_key(
    tmp_path: Path, api: dict[str, Any], key: str
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure(platforms={"api": {"port": here.port, "key": KEY, **api}})
        said = await refused(here)
        assert said.startswith(f"hermes: {key}: ")
        assert ". " in said, "the fix"
        assert KEY not in here.output()


@pytest.mark.parametrize(
    ("webhook", "key"),
    [
        ({"routes": {"ci": {}}}, "platforms.webhook.routes.ci.secret"),
        ({"routes": {"ci": {"secret": "  "}}}, "platforms.webhook.routes.ci.secret"),
        ({"routes": {"ci": {"secret": "short"}}}, "platforms.webhook.routes.ci.secret"),
        ({"host": ALL, "routes": ROUTE}, "platforms.webhook.host"),
    ],
)
async def test_web_01_and_web_11_webhooks_do_not_start_in_the_open_or_without_a_secret(
    tmp_path: Path, webhook: dict[str, Any], key: str
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure(platforms={"webhook": {"port": free_port(), **webhook}})
        assert (await refused(here)).startswith(f"hermes: {key}: ")


async def certificate(folder: Path) -> dict[str, str]:
    """Return a certificate for localhost and its key, as the section `tls` names them."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    made = await asyncio.create_subprocess_exec(
        program, *words, cwd=folder, stdout=-3, stderr=-3, stdin=-3
    )
    assert await made.wait() == 0
    return {"certificate_file": str(folder / "cert.pem"), "key_file": str(folder / "key.pem")}


@pytest.mark.setting("platforms.api.tls.certificate_file", "platforms.api.tls.key_file")
async def test_web_01_with_a_certificate_it_may_be_reached_and_speaks_only_tls(
    tmp_path: Path,
) -> None:
    tls = await certificate(tmp_path)
    trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with Model().up() as model, gateway(tmp_path, model) as here:
        api = {"host": ALL, "port": here.port, "key": KEY, "tls": tls}
        here.configure(platforms={"api": api})
        await here.start(ready=False)
        async with httpx2.AsyncClient(verify=trust, timeout=30.0) as http:

            async def ready() -> bool:
                try:
                    url = f"https://localhost:{here.port}/v1/models"
                    got = await http.get(url, headers={"authorization": f"Bearer {KEY}"})
                except httpx2.TransportError:
                    return False
                return got.status_code == 200

            await here.until(ready)
        assert (await asked(here.port)).status == 0, "not a word in the open"


async def test_web_01_every_route_asks_for_the_key(tmp_path: Path) -> None:
    routes = table(Front(host=cast("Any", None), model=""))
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for route in routes:
            path = route.path.replace("{id:path}", "x").replace("{id}", "x")
            for method in (*(route.methods or ()), "TRACE"):
                got = await asked(here.port, method, path, authorization="")
                open_ = path == "/health" and method != "TRACE"
                assert got.status == (200 if open_ else 405 if path == "/health" else 401), path
                assert "set-cookie" not in got.headers
                if not open_ and method != "HEAD" and path != "/health":
                    assert got.code == "invalid_api_key"


async def test_web_02_a_name_that_is_not_ours_is_not_served(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        port = here.port
        for host in (
            "evil.test",
            f"evil.test:{port}",
            f"127.0.0.1.evil.test:{port}",
            f"localhost.:{port}",
            f"localhost.evil.test:{port}",
            "127.0.0.1:1",
            f"127.0.0.1:{port}@evil.test",
            f"evil.test@127.0.0.1:{port}",
            f"127.0.0.1:{port}:80",
            "127.0.0.1:99999",
            f"127.0.0.1:+{port}",
            f"127.0.0.1:{port},evil.test",
            f"127.0.0.1 :{port}",
            f"[::1].evil.test:{port}",
            f"0x7f000001:{port}",
            f"2130706433:{port}",
            "",
            None,
        ):
            for path in ("/health", "/v1/models"):
                got = await asked(port, target=path, host=host)
                assert (got.status, got.code) == (421, "misdirected_request"), host
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", f"[::1]:{port}"):
            assert (await asked(port, host=host)).status == 200, host


async def test_web_02_neither_a_request_line_nor_a_second_header_hides_a_name(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        port = here.port
        ours = f"127.0.0.1:{port}"
        for target in (
            "http://evil.test/v1/models",
            f"http://127.0.0.1:{port}@evil.test/v1/models",
            f"http://evil.test:{port}/v1/models",
            "http://evil.test?/v1/models",
        ):
            assert (await asked(port, target=target)).status in (400, 421), target
        for target in (f"http://{ours}/v1/models", "/v1/models"):
            assert (await asked(port, target=target, host=ours)).status == 200
            assert (await asked(port, target=target, host="evil.test")).status == 421
        twice = request("GET", "/v1/models", host=ours).replace(
            b"\r\n", b"\r\nHost: evil.test\r\n", 1
        )
        assert (await sent(port, twice)).status in (400, 421)
        upgrade = {
            "upgrade": "websocket",
            "connection": "upgrade, close",
            "sec_websocket_version": "13",
        }
        raw = request("GET", "/v1/events", host="evil.test", sec_websocket_key="x", **upgrade)
        assert (await sent(port, raw + b"x")).status == 421


async def test_web_02_a_second_host_and_another_version_of_http_are_refused(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        plain = request("GET", "/v1/models", host=f"127.0.0.1:{here.port}")
        host = f"Host: 127.0.0.1:{here.port}\r\n".encode()
        assert (await sent(here.port, plain)).status == 200
        assert (await sent(here.port, plain.replace(host, host * 2))).status == 400
        for version in (b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.2", b"HTTP/3.0"):
            raw = plain.replace(b"HTTP/1.1", version)
            assert (await sent(here.port, raw)).status in (0, 400), version
        old = plain.replace(b"HTTP/1.1", b"HTTP/1.0")
        assert (await sent(here.port, old)).status == 200


async def test_web_03_a_page_of_another_site_is_not_served(tmp_path: Path) -> None:
    said = b'{"messages": [{"role": "user", "content": "hi"}]}'
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        port = here.port
        ours = f"http://127.0.0.1:{port}"
        foreign = ["null", "file://", "http://evil.test", f"https://127.0.0.1:{port}"]
        foreign += ["http://127.0.0.1", f"http://sub.localhost:{port}", f"http://localhost:{port}"]
        foreign += [f"{ours}.evil.test", f"{ours}/", f"{ours}, {ours}", "http://127.0.0.1:3000"]
        for origin in foreign:
            for method, path in (("POST", "/v1/chat/completions"), ("OPTIONS", "/v1/models")):
                got = await asked(port, method, path, origin=origin, body=said)
                assert (got.status, got.code) == (403, "foreign_origin"), origin
                assert "access-control-allow-origin" not in got.headers
        for site in ("cross-site", "same-site", "none"):
            got = await asked(port, "POST", "/v1/chat/completions", sec_fetch_site=site, body=said)
            assert got.status == 403, site
        assert (await asked(port, sec_fetch_site="cross-site")).status == 403
        path = "/v1/chat/completions"
        got = await asked(port, "POST", path, origin=ours, sec_fetch_site="same-origin", body=said)
        assert got.status == 200
        assert len(model.asked) == 1, "nothing of the rest came to the model"


async def test_web_03_and_web_04_a_cookie_proves_nothing_and_none_is_set(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for name in ("key", "token", "session", "Authorization", "__Host-session"):
            for more in ({}, {"origin": f"http://127.0.0.1:{here.port}"}):
                cookie = f"{name}={KEY}"
                got = await asked(here.port, authorization="", cookie=cookie, **more)
                assert got.status == 401
        got = await asked(here.port, cookie="session=x")
        assert got.status == 200
        assert "set-cookie" not in got.headers
        form = {"content_type": "application/x-www-form-urlencoded", "authorization": ""}
        body = f"authorization=Bearer+{KEY}&key={KEY}".encode()
        assert (await asked(here.port, "POST", "/v1/approvals/x", body=body, **form)).status == 401


async def guesses(here: GatewayProcess, count: int, **headers: str) -> list[int]:
    found = []
    for n in range(count):
        got = await asked(here.port, authorization=f"Bearer {KEY}{n}", **headers)
        found.append(got.status)
        if got.status == 429:
            assert int(got.headers["retry-after"]) > 0
    return found


async def test_web_09_guessing_is_slowed_down_and_locks_nobody_else_out(tmp_path: Path) -> None:
    limited = [401] * FAILURES_MAX + [429] * 3
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        page = {"origin": f"http://127.0.0.1:{here.port}"}
        assert await guesses(here, FAILURES_MAX + 3, **page) == limited
        assert (await asked(here.port, **page)).status == 429, "not even with the right key"
        assert (await asked(here.port)).status == 200, "a program of this machine is another one"
        assert await guesses(here, FAILURES_MAX + 3) == limited
        assert (await asked(here.port)).status == 200, "and cannot be locked out by a third"
        assert (await asked(here.port, authorization="")).status == 429
        assert (await asked(here.port, target="/health", authorization="")).status == 200
        assert KEY not in here.output()


@pytest.mark.setting("platforms.api.trusted_proxies")
async def test_web_09_and_web_10_behind_a_proxy_each_client_counts_for_himself(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        api = {"port": here.port, "key": KEY, "trusted_proxies": ["127.0.0.1"]}
        here.configure(platforms={"api": api})
        await here.start()
        evil, good = ({"x_forwarded_for": f"198.51.100.{n}"} for n in (1, 2))
        assert await guesses(here, FAILURES_MAX + 1, **evil) == [401] * FAILURES_MAX + [429]
        assert (await asked(here.port, **evil)).status == 429
        lied = {"x_forwarded_for": "203.0.113.9, 198.51.100.1"}
        assert (await asked(here.port, **lied)).status == 429, "what he says of himself is hearsay"
        assert (await asked(here.port, **good)).status == 200
        assert (await asked(here.port, x_forwarded_host="evil.test")).status == 421


async def test_web_10_nobody_forwards_unless_he_was_named(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        statuses = []
        for n in range(FAILURES_MAX + 2):
            spoofed = {"x_forwarded_for": f"198.51.100.{n}", "x_real_ip": f"198.51.100.{n}"}
            statuses += await guesses(here, 1, **spoofed)
        assert statuses == [401] * FAILURES_MAX + [429] * 2
        spoofed = {"x_forwarded_for": "127.0.0.1", "forwarded": "for=127.0.0.1"}
        assert (await asked(here.port, **spoofed)).status == 429, "loopback is no identity"
        host = {"host": "evil.test", "x_forwarded_host": f"127.0.0.1:{here.port}"}
        assert (await asked(here.port, **host)).status == 421
        proto = {"origin": f"https://127.0.0.1:{here.port}", "x_forwarded_proto": "https"}
        assert (await asked(here.port, **proto)).status == 403
