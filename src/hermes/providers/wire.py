"""HTTP to a model server: one client a provider, bounded in time and bytes. The only I/O here.

What the bytes mean is a Fold's business (openai_fold, anthropic_fold); this file moves them.
"""

import asyncio
import contextlib
import ipaddress
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import httpx2

from hermes.core.errors import (
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    ProviderSilent,
)
from hermes.core.signals import Glimpse, Watch
from hermes.providers.failures import Whom, failure
from hermes.providers.settings import Timeouts
from hermes.providers.sse import EventReader, ServerEvent, TooLong

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
ERROR_BYTES_MAX: Final = 64 * 1024
LISTING_BYTES_MAX: Final = 16 * 1024 * 1024
EXCERPT_BYTES_MAX: Final = 200
CONVERSATIONS_MAX: Final = 256  # at a time; more wait for their turn
CONNECTIONS_IDLE_MAX: Final = 64
CONNECTION_IDLE_S: Final = 60.0
ERROR_S: Final = 2.0  # for the words behind a status that says no
LISTING_S: Final = 30.0
DRAIN_S: Final = 0.05  # for the last bytes of a finished answer, so that its connection is reused


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where requests go and what they carry. `headers` hold the key and do not show themselves."""

    whom: Whom
    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    timeouts: Timeouts


class Fold(Protocol):
    """Puts an answer together. It raises a ProviderFailed for what it cannot believe."""

    @property
    def started(self) -> bool:
        """Has the model said anything yet?"""

    @property
    def finished(self) -> bool:
        """Has the server said that nothing follows?"""

    def take(self, event: ServerEvent) -> Sequence[Glimpse]: ...

    def whole(self, body: bytes) -> Sequence[Glimpse]:
        """A server that does not stream sent this."""


class Wire:
    """One server. Cancelling the task that waits here closes its connection at once."""

    def __init__(self, endpoint: Endpoint, *, clock: Callable[[], float] = time.time) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._room = asyncio.Semaphore(CONVERSATIONS_MAX)
        self._idle: list[httpx2.AsyncClient] = []
        self._trust: ssl.SSLContext | None = None

    async def converse(self, path: str, body: bytes, fold: Fold, watch: Watch) -> None:
        """Send `body` and feed the fold until it is finished or the server is."""
        async with self._room:
            await self._converse(path, body, fold, watch)

    async def _converse(self, path: str, body: bytes, fold: Fold, watch: Watch) -> None:
        waits = self.endpoint.timeouts
        over = asyncio.get_running_loop().time() + waits.total_s
        try:
            async with asyncio.timeout(min(waits.first_token_s, waits.total_s)) as deadline:
                listener = Listener(fold, watch, deadline, waits.silence_s, over)
                await self._exchange(path, body, listener)
        except TimeoutError as late:
            raise ProviderSilent(self._late(fold, over)) from late
        except TooLong as long:
            raise ProviderGarbled(f"{self.endpoint.whom.name} sent {long}.") from long
        except httpx2.HTTPError as broken:
            raise self._broken(broken) from broken

    async def fetch(self, path: str) -> bytes:
        """The body of a GET, for listings."""
        try:
            async with (
                asyncio.timeout(LISTING_S),
                self._client() as client,
                client.stream("GET", self._url(path)) as response,
            ):
                await self._demand_success(response)
                return await _bounded(response, LISTING_BYTES_MAX)
        except TimeoutError as late:
            name = self.endpoint.whom.name
            raise ProviderSilent(f"{name} gave no listing within {LISTING_S:g} s.") from late
        except TooLong as long:
            raise ProviderGarbled(f"{self.endpoint.whom.name} sent {long}.") from long
        except httpx2.HTTPError as broken:
            raise self._broken(broken) from broken

    async def aclose(self) -> None:
        idle, self._idle = self._idle, []
        for client in idle:
            await client.aclose()

    async def _exchange(self, path: str, body: bytes, listener: "Listener") -> None:
        async with (
            self._client() as client,
            client.stream("POST", self._url(path), content=body) as response,
        ):
            await self._demand_success(response)
            pieces = _counted(response, ANSWER_BYTES_MAX)
            head = await _head(pieces)
            if head.lstrip().startswith(b"{"):
                listener.whole(head + b"".join([piece async for piece in pieces]))
                return
            await listener.listen(head, pieces)
            if listener.fold.finished:
                await _drain(pieces)
            elif not listener.heard:
                excerpt = head[:EXCERPT_BYTES_MAX].decode("utf-8", "replace")
                raise ProviderGarbled(self._foreign(excerpt))

    async def _demand_success(self, response: httpx2.Response) -> None:
        if response.is_success:
            return
        body = b""
        with contextlib.suppress(httpx2.HTTPError, TimeoutError):  # the status says enough
            async with asyncio.timeout(ERROR_S):
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) >= ERROR_BYTES_MAX:
                        break
        whom, now = self.endpoint.whom, self._clock()
        raise failure(whom, response.status_code, response.headers, body, now=now)

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx2.AsyncClient]:
        """One that nobody else uses, the last used first. A shared pool looks at each of its
        connections for each request: with 64 of them that was a quarter of a turn's work."""
        client = self._idle.pop() if self._idle else self._made()
        try:
            yield client
        finally:
            if len(self._idle) < CONNECTIONS_IDLE_MAX:
                self._idle.append(client)
            else:
                await client.aclose()

    def _made(self) -> httpx2.AsyncClient:
        waits = self.endpoint.timeouts
        if self._trust is None:  # certificates are read for TLS only, and once: they cost 30 ms
            secure = not self.endpoint.base_url.startswith("http://")
            self._trust = httpx2.create_ssl_context(verify=secure)
        return httpx2.AsyncClient(
            headers=dict(self.endpoint.headers),
            timeout=httpx2.Timeout(
                connect=waits.connect_s, read=None, write=waits.silence_s, pool=waits.connect_s
            ),
            limits=httpx2.Limits(max_connections=1, keepalive_expiry=CONNECTION_IDLE_S),
            follow_redirects=False,  # a redirect would carry the key to another host
            trust_env=not is_loopback(self.endpoint.base_url),
            verify=self._trust,
        )

    def _url(self, path: str) -> str:
        return self.endpoint.base_url.rstrip("/") + path

    def _late(self, fold: Fold, over: float) -> str:
        whom, waits = self.endpoint.whom, self.endpoint.timeouts
        if asyncio.get_running_loop().time() >= over:
            return f"{whom.name} did not end its answer within {waits.total_s:g} s."
        if fold.started:
            return f"{whom.name} went silent for {waits.silence_s:g} s in the middle of an answer."
        return (
            f"{whom.name} sent no first token within {waits.first_token_s:g} s ({whom.url}). "
            "Raise model.timeouts.first_token_s if the model needs longer."
        )

    def _foreign(self, excerpt: str) -> str:
        whom = self.endpoint.whom
        shown = whom.line(excerpt) or "nothing"
        return f"{whom.name} did not answer in its protocol but with: {shown} ({whom.url})."

    def _broken(self, broken: httpx2.HTTPError) -> ProviderFailed:
        whom = self.endpoint.whom
        why = whom.line(str(broken)) or type(broken).__name__
        match broken:
            case httpx2.ConnectTimeout():
                limit = self.endpoint.timeouts.connect_s
                return ProviderSilent(
                    f"{whom.name}: no connection to {whom.url} within {limit:g} s. "
                    "Check the network and model.base_url."
                )
            case httpx2.ConnectError() | httpx2.ProxyError():
                return ProviderSilent(
                    f"{whom.name}: cannot connect to {whom.url} ({why}). "
                    "Check that the server runs, the network and model.base_url."
                )
            case httpx2.TimeoutException():
                return ProviderSilent(f"{whom.name}: {whom.url} does not take the request ({why}).")
            case httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
                return ProviderRefused(
                    f"{whom.name}: the request cannot be sent ({why}). Check model.base_url."
                )
            case _:
                return ProviderGarbled(f"{whom.name}: the answer was cut off ({why}).")


class Listener:
    """Hands events to the fold and moves the deadline with them."""

    def __init__(
        self,
        fold: Fold,
        watch: Watch,
        deadline: asyncio.Timeout,
        silence_s: float,
        over: float,
    ) -> None:
        self.fold = fold
        self.heard = False
        self._watch = watch
        self._deadline = deadline
        self._silence_s = silence_s
        self._over = over

    def whole(self, body: bytes) -> None:
        self._show(self.fold.whole(body))

    async def listen(self, head: bytes, pieces: AsyncIterator[bytes]) -> None:
        reader = EventReader()
        if self._take(reader.feed(head)):
            return
        async for piece in pieces:
            if self._take(reader.feed(piece)):
                return
        self._take(reader.end())

    def _take(self, events: Sequence[ServerEvent]) -> bool:
        """Comments are no events: a proxy that says it waits is as silent as one that does not."""
        for event in events:
            self.heard = True
            self._show(self.fold.take(event))
            if self.fold.finished:
                return True
        if events and self.fold.started:
            now = asyncio.get_running_loop().time()
            self._deadline.reschedule(min(now + self._silence_s, self._over))
        return False

    def _show(self, glimpses: Sequence[Glimpse]) -> None:
        for glimpse in glimpses:
            self._watch(glimpse)


def is_loopback(url: str) -> bool:
    """Our own machine: asked directly, whatever the environment says about proxies."""
    host = httpx2.URL(url).host
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _counted(response: httpx2.Response, limit: int) -> AsyncIterator[bytes]:
    total = 0
    async for piece in response.aiter_bytes():
        total += len(piece)
        if total > limit:
            raise TooLong(f"an answer of more than {limit} bytes")
        yield piece


async def _bounded(response: httpx2.Response, limit: int) -> bytes:
    return b"".join([piece async for piece in _counted(response, limit)])


async def _head(pieces: AsyncIterator[bytes]) -> bytes:
    """Enough to see what kind of answer it is: up to the first byte that is no space."""
    head = b""
    async for piece in pieces:
        head += piece
        if head.strip():
            break
    return head


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    with contextlib.suppress(TimeoutError, httpx2.HTTPError, TooLong):
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                pass
