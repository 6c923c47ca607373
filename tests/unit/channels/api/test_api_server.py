"""The server: who gets in, what is too much, and how it begins and ends."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from hermes.channels.api.front import BODY_BYTES_MAX, Front
from hermes.channels.api.routes import table
from hermes.channels.api.server import ApiChannel, bound_sockets
from hermes.channels.api.settings import ApiSettings
from hermes.core.channel import ChannelHost, GatewayStatus, Manifest
from hermes.core.errors import Misconfigured, StoreBusy, StoreFull
from hermes.core.events import Event
from hermes.core.ids import SessionKey
from hermes.core.messages import Inbound, Reply
from hermes.core.store import Accepted
from hermes.testing.house import house
from tests.unit.channels.api.place import KEY, Puppet, client, said, served

DOCS = Path(__file__).parents[4] / "docs"


async def test_nothing_but_the_health_is_told_to_strangers(tmp_path: Path) -> None:
    wrong = ["", "Bearer", f"Basic {KEY}", KEY, f"Bearer {KEY}x"]
    async with served(tmp_path) as here, client(here.url) as stranger:
        paths = [("GET", "/metrics"), ("GET", "/v1/models"), ("GET", "/nowhere")]
        paths += [("POST", "/v1/chat/completions"), ("OPTIONS", "/v1/chat/completions")]
        for method, path in paths:
            for given in wrong:
                response = await stranger.request(method, path, headers={"Authorization": given})
                assert response.status_code == 401
                error = response.json()["error"]
                assert error["code"] == "invalid_api_key"
                assert KEY not in response.text
                assert response.headers["www-authenticate"] == "Bearer"
                assert "access-control-allow-origin" not in response.headers
        right = await stranger.get("/v1/models", headers={"authorization": f"bearer  {KEY}"})
        assert right.status_code == 200


async def test_every_error_has_the_same_shape(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        missing = await here.http.get("/v1/nowhere")
        method = await here.http.delete("/v1/chat/completions")
        head = await here.http.head("/health")
    assert (missing.status_code, method.status_code, head.status_code) == (404, 405, 200)
    for response, code in ((missing, "not_found"), (method, "method_not_allowed")):
        assert set(response.json()["error"]) >= {"message", "type", "code"}
        assert response.json()["error"]["code"] == code
    assert method.headers["allow"] == "POST"


async def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(
    tmp_path: Path,
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_BYTES_MAX // 1_000_000 + 2):
            yield b"x" * 1_000_000

    async with served(tmp_path) as here:
        path = "/v1/chat/completions"
        said_so = await here.http.post(path, content=b"x" * (BODY_BYTES_MAX + 1))
        not_said = await here.http.post(path, content=chunks())
        assert (await here.chat("hi")).status_code == 200
    for response in (said_so, not_said):
        assert response.status_code == 413
        assert response.json()["error"]["code"] == "request_too_large"


async def test_a_client_that_leaves_in_the_middle_of_its_request_disturbs_nobody(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as here:
        host, port = here.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
        writer.write(f"{head}Authorization: Bearer {KEY}\r\n\r\n{{".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await here.chat("hi")).status_code == 200
        assert len(await here.house.store.library.sessions(limit=5)) == 1


class Behind:
    """The channel behind a door that a test has changed."""

    def __init__(self, change: Callable[[ChannelHost], ChannelHost]) -> None:
        self.api = ApiChannel(ApiSettings(key=KEY, port=0), model="m")
        self._change = change

    @property
    def manifest(self) -> Manifest:
        return self.api.manifest

    def render(self, text: str) -> Sequence[str]:
        return self.api.render(text)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        return await self.api.send(reply, chunk, key=key)

    async def listen(self, door: ChannelHost) -> None:
        await self.api.listen(self._change(door))

    def client(self) -> httpx2.AsyncClient:
        assert self.api.bound is not None
        headers = {"Authorization": f"Bearer {KEY}"}
        return client(f"http://127.0.0.1:{self.api.bound[1]}", headers)


async def test_a_store_that_takes_nothing_is_a_reason_to_come_back(tmp_path: Path) -> None:
    """The disk is full when the message comes: nothing was accepted, and the client may repeat."""

    async def accept(_inbound: Inbound) -> Accepted:
        raise StoreFull("no space left")

    behind = Behind(lambda door: replace(door, accept=accept))
    async with house(tmp_path, behind), behind.client() as http:
        response = await http.post("/v1/chat/completions", json=said("x"))
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "store_unavailable"
    assert response.headers["retry-after"]


async def test_a_journal_that_cannot_be_read_is_no_reason_to_run_it_again(tmp_path: Path) -> None:
    class Unreadable:
        async def since(self, _key: SessionKey, _position: int) -> Sequence[Event]:
            raise StoreBusy("somebody holds the file")

    def change(door: ChannelHost) -> ChannelHost:
        return replace(door, store=replace(door.store, journal=Unreadable()))

    behind, puppet = Behind(change), Puppet()
    async with house(tmp_path, behind, puppet), behind.client() as http:
        path = "/v1/chat/completions"
        asking = [
            asyncio.create_task(http.post(path, json=said("x"))),
            asyncio.create_task(http.post(path, json=said("x", stream=True))),
        ]
        keyed = http.post(path, json=said("x"), headers={"Idempotency-Key": "k"})
        plain, streamed, repeatable = await asyncio.gather(*asking, keyed)
    assert (plain.status_code, repeatable.status_code) == (503, 503)
    assert plain.headers["x-should-retry"] == "false"
    assert plain.headers["x-hermes-session-id"]
    assert repeatable.headers["retry-after"]
    assert "store_unavailable" in streamed.text
    assert streamed.text.endswith("data: [DONE]\n\n")


async def test_what_breaks_in_a_route_is_told_in_the_same_shape_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def status() -> GatewayStatus:
        raise RuntimeError("a fault of ours")

    behind = Behind(lambda door: replace(door, status=status))
    async with house(tmp_path, behind), behind.client() as http:
        response = await http.get("/metrics")
        after = await http.get("/v1/sessions")
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"
    assert "a fault of ours" not in response.text
    assert "a fault of ours" in caplog.text
    assert after.status_code == 200


async def test_a_port_in_use_is_a_setting_to_be_changed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Misconfigured) as caught:
            await bound_sockets(ApiSettings(key=KEY, port=port))
    assert caught.value.key == "platforms.api.port"
    assert str(port) in str(caught.value)
    assert f"hermes config set platforms.api.port {port + 1}" in str(caught.value)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
async def test_a_host_that_is_not_ours_is_a_setting_to_be_changed(host: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        await bound_sockets(ApiSettings(key=KEY, host=host, port=0))
    assert caught.value.key == "platforms.api.host"


async def test_a_name_is_bound_to_all_its_addresses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    sockets = await bound_sockets(ApiSettings(key=KEY, host="localhost", port=port))
    try:
        assert ("127.0.0.1", port) in [each.getsockname()[:2] for each in sockets]
    finally:
        for each in sockets:
            each.close()


async def test_small_pieces_are_sent_at_once() -> None:
    """asyncio turns Nagle's delay off only for sockets that name their protocol."""
    for each in await bound_sockets(ApiSettings(key=KEY, port=0)):
        assert each.proto == socket.IPPROTO_TCP
        each.close()


async def test_the_process_keeps_its_signals(tmp_path: Path) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    async with served(tmp_path):
        assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


async def test_an_end_is_quick_and_frees_the_port(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        waiting = asyncio.create_task(here.chat("go"))
        await puppet.next()
        began = asyncio.get_running_loop().time()
        here.house.listening.cancel()
        await asyncio.wait({here.house.listening})
        assert asyncio.get_running_loop().time() - began < 1.5
        assert here.house.listening.cancelled()
        assert (await waiting).status_code == 503
        port = int(here.url.rpartition(":")[2])
        for each in await bound_sockets(ApiSettings(key=KEY, port=port)):
            each.close()


async def test_nothing_wakes_up_while_nobody_asks(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        await here.http.get("/health")
        await asyncio.sleep(0.2)
        loop = asyncio.get_running_loop()
        due = [timer.when() - loop.time() for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        assert min(due) > 0.9, "somebody polls faster than once a second"


async def test_every_route_is_documented(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        routes = table(Front(host=here.house.door, model=""))
    text = (DOCS / "API.md").read_text(encoding="utf-8")
    paths = {route.path.replace(":path", "") for route in routes}
    assert [path for path in sorted(paths) if f"{path}`" not in text] == []


def test_nothing_is_ever_sent_because_people_come_for_their_replies() -> None:
    manifest = ApiChannel(ApiSettings(key=KEY), model="m").manifest
    assert (manifest.name, manifest.fetched, manifest.on_doubt) == ("api", True, "same_key")
