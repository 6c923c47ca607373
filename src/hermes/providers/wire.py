"""Talk with a model server, bounded in time and bytes.

How the bytes travel is http's business, what they mean a Fold's (openai_fold, anthropic_fold).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final, Protocol

from hermes.core.errors import (
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    ProviderSilent,
)
from hermes.core.signals import Glimpse, Watch
from hermes.egress.faults import (
    Broken,
    ConnectLate,
    HttpFailed,
    Stuck,
    Unreachable,
    Unsendable,
)
from hermes.egress.response import Response
from hermes.providers.failures import failure
from hermes.providers.http import Client
from hermes.providers.sse import EventReader, ServerEvent, TooLong
from hermes.providers.whom import Endpoint, is_loopback
from hermes.views.rare import proxies

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
ERROR_BYTES_MAX: Final = 64 * 1024
LISTING_BYTES_MAX: Final = 16 * 1024 * 1024
EXCERPT_BYTES_MAX: Final = 200
CONVERSATIONS_MAX: Final = 256  # at a time; more wait for their turn
ERROR_S: Final = 2.0  # for the words behind a status that says no
LISTING_S: Final = 30.0
DRAIN_S: Final = 0.05  # for the last bytes of a finished answer, so that its connection is reused


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
        self._made: Client | None = None

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
        except HttpFailed as broken:
            raise self._broken(broken) from broken

    async def fetch(self, path: str) -> bytes:
        """The body of a GET, for listings."""
        try:
            async with (
                asyncio.timeout(LISTING_S),
                self._client().exchange("GET", path) as response,
            ):
                await self._demand_success(response)
                return b"".join([piece async for piece in Counted(response, LISTING_BYTES_MAX)])
        except TimeoutError as late:
            name = self.endpoint.whom.name
            raise ProviderSilent(f"{name} gave no listing within {LISTING_S:g} s.") from late
        except TooLong as long:
            raise ProviderGarbled(f"{self.endpoint.whom.name} sent {long}.") from long
        except HttpFailed as broken:
            raise self._broken(broken) from broken

    async def aclose(self) -> None:
        if self._made is not None:
            self._made.close()
            await asyncio.sleep(0)  # the sockets close in the loop's next round

    async def _exchange(self, path: str, body: bytes, listener: "Listener") -> None:
        async with self._client().exchange("POST", path, body) as response:
            await self._demand_success(response)
            pieces = Counted(response, ANSWER_BYTES_MAX)
            head = await _head(pieces)
            if head.lstrip().startswith(b"{"):
                listener.whole(head + b"".join([piece async for piece in pieces]))
                return
            await listener.listen(head, pieces)
            if listener.fold.finished:
                await _drain(response, pieces)
            elif not listener.heard:
                excerpt = head[:EXCERPT_BYTES_MAX].decode("utf-8", "replace")
                raise ProviderGarbled(self._foreign(excerpt))

    async def _demand_success(self, response: Response) -> None:
        if 200 <= response.status < 300:
            if response.encoding:
                raise Broken(f"compressed with {response.encoding}, which nobody asked for")
            return
        body = b""
        with contextlib.suppress(HttpFailed, TimeoutError):  # the status says enough
            async with asyncio.timeout(ERROR_S):
                async for piece in response:
                    body += piece
                    if len(body) >= ERROR_BYTES_MAX:
                        break
        whom, now = self.endpoint.whom, self._clock()
        said = b"" if response.encoding else body
        raise failure(whom, response.status, response.headers, said, now=now)

    def _client(self) -> Client:
        if self._made is None:
            endpoint = self.endpoint
            self._made = Client(
                endpoint.base_url,
                endpoint.headers,
                proxies=proxies_to(endpoint.base_url),
                connect_s=endpoint.timeouts.connect_s,
                write_s=endpoint.timeouts.silence_s,
            )
        return self._made

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

    def _broken(self, broken: HttpFailed) -> ProviderFailed:
        whom = self.endpoint.whom
        why = whom.line(str(broken)) or type(broken).__name__
        match broken:
            case ConnectLate():
                limit = self.endpoint.timeouts.connect_s
                return ProviderSilent(
                    f"{whom.name}: no connection to {whom.url} within {limit:g} s. "
                    "Check the network and model.base_url."
                )
            case Unreachable():
                return ProviderSilent(
                    f"{whom.name}: cannot connect to {whom.url} ({why}). "
                    "Check that the server runs, the network and model.base_url."
                )
            case Stuck():
                return ProviderSilent(f"{whom.name}: {whom.url} does not take the request ({why}).")
            case Unsendable():
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


class Counted:
    """The body of a response, up to a limit. A generator that is left in the middle would cost a
    task to end it, and most answers are left before their last byte."""

    def __init__(self, response: Response, limit: int) -> None:
        self._response = response
        self._limit = limit
        self._total = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._response)
        self._total += len(piece)
        if self._total > self._limit:
            raise TooLong(f"an answer of more than {self._limit} bytes")
        return piece


def proxies_to(url: str) -> Mapping[str, str]:
    """What the environment says of proxies on the way there."""
    return {} if is_loopback(url) else proxies()


async def _head(pieces: AsyncIterator[bytes]) -> bytes:
    """Enough to see what kind of answer it is: up to the first byte that is no space."""
    head = b""
    async for piece in pieces:
        head += piece
        if head.strip():
            break
    return head


async def _drain(response: Response, pieces: AsyncIterator[bytes]) -> None:
    if response.whole:
        return
    with contextlib.suppress(TimeoutError, HttpFailed, TooLong):
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                pass
