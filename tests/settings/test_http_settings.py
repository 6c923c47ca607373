"""`platforms.api.…` and `platforms.webhook.…`: where they listen, by which names, for whom."""

import hashlib
import hmac
import ssl
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Model
from tests.attacks.test_http_door import certificate
from tests.attacks.wire import asked
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import KEY, GatewayProcess, client, free_port, gateway

SECRET = "correct-horse-battery"
BODY = b'{"ref": "main", "by": {"name": "Ada"}}'
OURS = "hermes.example"


def signed(body: bytes = BODY, **more: str) -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"x-hub-signature-256": f"sha256={digest}", **more}


def with_hook(here: GatewayProcess, *, route: dict[str, Any] | None = None, **more: Any) -> int:
    """A route that is signed as GitHub does it."""
    port = free_port()
    routes = {"ci": {"secret": SECRET, "signature": "github", **(route or {})}}
    others = here.settings.get("platforms", {})
    here.configure(platforms={**others, "webhook": {"port": port, "routes": routes, **more}})
    return port


async def post(url: str, headers: dict[str, str]) -> int:
    async with client(30.0) as http:
        return (await http.post(f"{url}/webhooks/ci", content=BODY, headers=headers)).status_code


@pytest.mark.setting("platforms.api.host", "platforms.api.port", "platforms.api.key")
@pytest.mark.setting("platforms.api.hosts")
async def test_the_api_listens_where_it_is_told_and_knows_its_key_and_names(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        key = "another-key-0123456789"
        api = {"host": "127.0.0.2", "port": here.port, "key": key, "hosts": [OURS]}
        here.configure(platforms={"api": api})
        await here.start(ready=False)
        url = f"http://127.0.0.2:{here.port}/v1/models"

        async def status(token: str, **headers: str) -> int:
            try:
                async with client(30.0) as http:
                    given = {"authorization": f"Bearer {token}", **headers}
                    return (await http.get(url, headers=given)).status_code
            except httpx2.TransportError:
                return 0

        async def listens() -> bool:
            return await status(key) == 200

        await here.until(listens)
        assert await here.health() == 0, "and nowhere else"
        assert await status(KEY) == 401
        assert await status(key, host=OURS) == 200
        assert await status(key, host="other.example") == 421


@pytest.mark.setting(
    "platforms.webhook.port",
    "platforms.webhook.routes.<name>.secret",
    "platforms.webhook.routes.<name>.signature",
    "platforms.webhook.routes.<name>.prompt",
    "platforms.webhook.routes.<name>.deliver",
    "platforms.webhook.routes.<name>.session",
)
async def test_an_event_of_a_route_is_told_answered_and_remembered_as_the_route_says(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [7]}
        here.configure(platforms={"telegram": telegram})
        route = {"prompt": "{by.name} pushed {ref}", "deliver": "telegram:7", "session": "route"}
        url = f"http://127.0.0.1:{with_hook(here, route=route)}"
        await here.start()
        for n in (1, 2):
            sent = signed(**{"x-github-delivery": f"event-{n}", "x-github-event": "push"})
            assert await post(url, sent) == 202

            async def shown(n: int = n) -> bool:
                return len([text for text in api.texts(7) if "Ada pushed main" in text]) >= n

            await here.until(shown, 60.0)
        users = [one for one in model.asked[-1].messages if one["role"] == "user"]
        assert len(users) == 2, "one conversation for the route"
        assert await post(url, {"x-hub-signature-256": "sha256=0"}) == 401


@pytest.mark.setting(
    "platforms.webhook.host", "platforms.webhook.hosts", "platforms.webhook.trusted_proxies"
)
async def test_webhooks_listen_where_they_are_told_and_know_their_names_and_proxies(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        more = {"hosts": [OURS], "trusted_proxies": ["127.0.0.1"], "host": "127.0.0.2"}
        port = with_hook(here, **more)
        await here.start()
        url = f"http://127.0.0.2:{port}"
        assert await post(url, signed(host=OURS)) == 202
        assert await post(url, signed(host="other.example")) == 421
        assert await post(url, signed(**{"x-forwarded-host": "other.example"})) == 421
        with pytest.raises(ConnectionRefusedError):
            await asked(port, "POST", "/webhooks/ci")


@pytest.mark.setting("platforms.webhook.tls.certificate_file", "platforms.webhook.tls.key_file")
async def test_webhooks_with_a_certificate_speak_tls(tmp_path: Path) -> None:
    tls = await certificate(tmp_path)
    trust = ssl.create_default_context(cafile=tls["certificate_file"])
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = with_hook(here, tls=tls)
        await here.start()
        async with httpx2.AsyncClient(verify=trust, timeout=30.0) as http:
            url = f"https://localhost:{port}/webhooks/ci"
            assert (await http.post(url, content=BODY, headers=signed())).status_code == 202


@pytest.mark.setting(
    "platforms.api.enabled", "platforms.telegram.enabled", "platforms.webhook.enabled"
)
async def test_a_platform_that_is_not_enabled_is_not_there(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": "http://127.0.0.1:9"}
        sections = {"api": {"port": here.port, "key": KEY}, "telegram": telegram}
        here.configure(platforms={n: {**s, "enabled": False} for n, s in sections.items()})
        port = with_hook(here, enabled=False)
        await here.start(ready=False)

        async def ready() -> bool:
            return "The gateway is ready" in here.output()

        await here.until(ready, 60.0)
        status = await here.hermes("gateway", "status", "--json")
        names = {row["name"] for row in status["channels"]}
        assert names & {"api", "telegram", "webhook"} == set()
        assert await here.health() == 0
        with pytest.raises(ConnectionRefusedError):
            await asked(port, "POST", "/webhooks/ci")
