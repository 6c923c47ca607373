"""The channel: bind, serve until cancelled, and answer every open request at the end."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from hermes.channels.api.front import Front
from hermes.channels.api.manifest import MANIFEST
from hermes.channels.api.routes import application
from hermes.channels.api.settings import SECTION, ApiSettings
from hermes.core.channel import ChannelHost, Manifest
from hermes.core.errors import Misconfigured
from hermes.core.messages import Reply
from hermes.httpd.connection import ConnectionTimeouts
from hermes.httpd.reach import certified
from hermes.httpd.server import Terms, serving

if TYPE_CHECKING:
    from hermes.views.jobs import JobActs

BACKLOG: Final = 2_048
TERMS: Final = Terms(
    connections_max=8_192, backlog=BACKLOG, patience=ConnectionTimeouts(keep_alive_s=75.0)
)
ADDRESSES_MAX: Final = 8  # of one host name

log = logging.getLogger("hermes.channels.api")


class ApiChannel:
    """Both sides of the channel. It receives requests and sends nothing, because clients fetch
    their replies."""

    def __init__(
        self, settings: ApiSettings, *, model: str, key: Callable[[], str] | None = None
    ) -> None:
        """`key` returns the current key and is called for every request; without it the key of the
        settings counts."""
        self._settings = settings
        self._model = model
        self._key = key or (lambda: settings.key)
        self.bound: tuple[str, int] | None = None  # where it listens, as long as it does
        self._jobs: Callable[[], JobActs] | None = None

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:  # noqa: ARG002
        """Do nothing: the journal has the reply, and clients read it from there."""
        return key

    async def listen(self, channel_host: ChannelHost) -> None:
        """Serve. Raise Misconfigured when the port, the host or the certificate cannot be used."""
        reach = self._settings.reach
        tls = certified(SECTION, reach.tls)
        sockets = await bound_sockets(self._settings)
        host, port = self.bound = sockets[0].getsockname()[:2]
        front = Front(host=channel_host, model=self._model, jobs=self._jobs)
        site = application(front, key=self._key, reach=reach)
        try:
            async with serving(site, sockets, TERMS, tls):
                scheme = "http" if tls is None else "https"
                shown = f"[{host}]" if ":" in host else host
                log.info("the API is at %s://%s:%d", scheme, shown, port)
                channel_host.connected()
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    self.bound = None
                    front.waits.close()
        finally:
            self.bound = None

    def take_jobs(self, acts: "Callable[[], JobActs]") -> None:
        """From now on clients can see and change scheduled jobs."""
        self._jobs = acts

    async def preflight(self, held: Callable[[str, int], bool]) -> None:
        """Raise Misconfigured when `listen` would. An address that is `held` is not tried."""
        certified(SECTION, self._settings.reach.tls)
        if not held(self._settings.host, self._settings.port):
            _close(await bound_sockets(self._settings))


async def bound_sockets(settings: ApiSettings) -> list[socket.socket]:
    """Return sockets bound to every address of the host. Raise Misconfigured, naming the setting
    and the fix."""
    host, port = settings.host, settings.port
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host.encode() if host.isascii() else host,  # of a text, IDNA would be loaded
            port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
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
