"""The channel itself: bind, serve until cancelled, and let nobody wait in vain at the end."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import uvicorn

from hermes.channels.api.front import Front
from hermes.channels.api.manifest import MANIFEST
from hermes.channels.api.routes import application
from hermes.channels.api.settings import SECTION, ApiSettings
from hermes.channels.reach import demand_certificate
from hermes.channels.serving import server_config
from hermes.core.channel import Door, Manifest
from hermes.core.errors import Misconfigured
from hermes.core.messages import Reply

KEEP_ALIVE_S: Final = 75
GRACE_S: Final = 2.0  # for answers that are being written when the server closes
FLUSH_S: Final = 0.02
BACKLOG: Final = 2_048
CONNECTIONS_MAX: Final = 8_192
ADDRESSES_MAX: Final = 8  # of one host name

log = logging.getLogger("hermes.channels.api")


class ApiChannel:
    """Both sides at once: it hears requests, and has nothing to send, because people come for
    their replies."""

    def __init__(
        self, settings: ApiSettings, *, model: str, key: Callable[[], str] | None = None
    ) -> None:
        """`key` tells the one that counts now, and is asked all the time; without it the one of
        the settings counts for ever."""
        self._settings = settings
        self._model = model
        self._key = key or (lambda: settings.key)
        self.bound: tuple[str, int] | None = None  # where it listens, as long as it does

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:  # noqa: ARG002
        """The journal has the reply already; whoever asks for it gets it from there."""
        return key

    async def listen(self, door: Door) -> None:
        """Raises Misconfigured when the port, the host or the certificate cannot be had."""
        reach = self._settings.reach
        if reach.tls is not None:
            demand_certificate(SECTION, reach.tls)
        sockets = await bound_sockets(self._settings)
        front = Front(door=door, model=self._model)
        config = server_config(
            application(front, key=self._key, reach=reach),
            reach,
            connections_max=CONNECTIONS_MAX,
            keep_alive_s=KEEP_ALIVE_S,
            backlog=BACKLOG,
        )
        host, port = sockets[0].getsockname()[:2]
        self.bound = (host, port)

        def ready() -> None:
            scheme = "http" if reach.tls is None else "https"
            log.info("the API is at %s://%s:%d", scheme, f"[{host}]" if ":" in host else host, port)
            door.connected()

        server = _Server(config, ready)
        try:
            await server.serve(sockets=sockets)
        finally:
            self.bound = None
            front.waits.close()
            await server.close()
            _close(sockets)


class _Server(uvicorn.Server):
    """Signals are the process's own business, and nothing wakes up when nobody asks."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        self._ready()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Take nobody in, and let those who are being answered have their answers."""
        if not self.started:
            return
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        late = await _ended(state.tasks, GRACE_S)
        for task in late:
            task.cancel()
        await _ended(late, GRACE_S)
        for _ in range(int(GRACE_S / FLUSH_S)):
            if not state.connections:
                return
            await asyncio.sleep(FLUSH_S)


async def _ended(tasks: set["asyncio.Task[None]"], seconds: float) -> set["asyncio.Task[None]"]:
    """Wait for them; returns those that go on."""
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else set()


async def bound_sockets(settings: ApiSettings) -> list[socket.socket]:
    """Bound to every address of the host. Raises Misconfigured, naming the key and the fix."""
    host, port = settings.host, settings.port
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        fix = f"Run: hermes config set {SECTION}.host 127.0.0.1"
        raise Misconfigured(f"{SECTION}.host", f"“{host}” is not known ({error})", fix) from error
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, address in addresses[: 1 if port == 0 else ADDRESSES_MAX]:
        try:
            sockets.append(_bound(family, address))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                _close(sockets)
                raise _cannot_bind(settings, error) from error
            failure = error  # this machine does not have that family of addresses
    if not sockets:
        raise _cannot_bind(settings, failure or OSError("no address"))
    return sockets


def _bound(family: int, address: object) -> socket.socket:
    # With its protocol named, asyncio sends small pieces at once (TCP_NODELAY).
    one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.setblocking(False)
        one.bind(address)  # type: ignore[arg-type]
        one.listen(BACKLOG)
    except OSError:
        one.close()
        raise
    return one


def _close(sockets: list[socket.socket]) -> None:
    for each in sockets:
        each.close()


def _cannot_bind(settings: ApiSettings, error: OSError) -> Misconfigured:
    host, port = settings.host, settings.port
    fix = f"Run: hermes config set {SECTION}.port {port + 1 if port < 65_535 else port - 1}"
    if error.errno == errno.EADDRINUSE:
        problem = f"{port} is in use by another program"
        return Misconfigured(f"{SECTION}.port", problem, f"Stop that one, or choose another. {fix}")
    if error.errno == errno.EACCES:
        problem = f"{port} may be opened by the administrator only"
        return Misconfigured(
            f"{SECTION}.port", problem, f"Run: hermes config set {SECTION}.port 8642"
        )
    fix = f"Run: hermes config set {SECTION}.host 127.0.0.1"
    return Misconfigured(f"{SECTION}.host", f"“{host}” cannot be listened on ({error})", fix)
