"""Talk to a model server, with limits on time and bytes.

http moves the bytes; a Fold (openai_fold, anthropic_fold) gives them meaning.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Protocol

from hermes.core.errors import (
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    ProviderSilent,
)
from hermes.core.signals import Glimpse, Watch
from hermes.providers.endpoint import Endpoint
from hermes.providers.failures import failure
from hermes.providers.sse import EventReader, ServerEvent, TooLong
from hermes.wire.body import Limited
from hermes.wire.faults import (
    Broken,
    ConnectLate,
    HttpFailed,
    Stuck,
    TooMuch,
    Unreachable,
    Unsendable,
)
from hermes.wire.http import Client
from hermes.wire.response import Response
from hermes.wire.route import proxies_to

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
ERROR_BYTES_MAX: Final = 64 * 1024
LISTING_BYTES_MAX: Final = 16 * 1024 * 1024
EXCERPT_BYTES_MAX: Final = 200
CONVERSATIONS_MAX: Final = 256  # at a time; more wait for their turn
ERROR_S: Final = 2.0  # for the words behind a status that says no
LISTING_S: Final = 30.0
DRAIN_S: Final = 0.05  # for the last bytes of a finished answer, so that its connection is reused


class Fold(Protocol):
    """Assembles an answer. It raises a ProviderFailed for malformed input."""

    @property
    def started(self) -> bool:
        """Return True if the model has sent anything yet."""

    @property
    def finished(self) -> bool:
        """Return True if the server has said that nothing follows."""

    def take(self, event: ServerEvent) -> Sequence[Glimpse]: ...

    def whole(self, body: bytes) -> Sequence[Glimpse]:
        """Take the body of a server that does not stream."""


class Wire:
    """A client for one model server. Cancelling the waiting task closes its connection at once."""

    def __init__(self, endpoint: Endpoint, *, clock: Callable[[], float] = time.time) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._room = asyncio.Semaphore(CONVERSATIONS_MAX)
        self._made: Client | None = None

    async def converse(self, path: str, body: bytes, fold: Fold, watch: Watch) -> None:
        """Send `body` and feed the fold until the fold is finished or the response ends."""
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
        except TooMuch as much:
            raise self._too_long(ANSWER_BYTES_MAX) from much
        except HttpFailed as broken:
            raise self._broken(broken) from broken

    async def fetch(self, path: str, body: bytes | None = None) -> bytes:
        """Return the body of a GET, for listings; with a body, of a POST."""
        asked = ("GET", path) if body is None else ("POST", path, body)
        try:
            async with (
                asyncio.timeout(LISTING_S),
                self._client().exchange(*asked) as response,
            ):
                await self._demand_success(response)
                return b"".join([piece async for piece in Limited(response, LISTING_BYTES_MAX)])
        except TimeoutError as late:
            name = self.endpoint.whom.name
            raise ProviderSilent(
                f"{name} did not list its models within {LISTING_S:g} s."
            ) from late
        except TooMuch as much:
            raise self._too_long(LISTING_BYTES_MAX) from much
        except HttpFailed as broken:
            raise self._broken(broken) from broken

    async def aclose(self) -> None:
        if self._made is not None:
            self._made.close()
            await asyncio.sleep(0)  # the sockets close in the loop's next round

    async def _exchange(self, path: str, body: bytes, listener: "Listener") -> None:
        async with self._client().exchange("POST", path, body) as response:
            await self._demand_success(response)
            pieces = Limited(response, ANSWER_BYTES_MAX)
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
                raise Broken(f"compressed with {response.encoding}, which was not requested")
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
            return f"{whom.name} did not finish its answer within {waits.total_s:g} s."
        if fold.started:
            return f"{whom.name} went silent for {waits.silence_s:g} s in the middle of an answer."
        return (
            f"{whom.name} sent no first token within {waits.first_token_s:g} s ({whom.url}). "
            "Raise model.timeouts.first_token_s if the model needs longer."
        )

    def _too_long(self, bytes_max: int) -> ProviderGarbled:
        return ProviderGarbled(
            f"{self.endpoint.whom.name} sent an answer of more than {bytes_max:,} bytes."
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
    """Pass events to the fold and extend the deadline with each."""

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
        """Take events. Comments do not extend the deadline: a proxy's keep-alive is not an
        answer."""
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


async def _head(pieces: AsyncIterator[bytes]) -> bytes:
    """Return the start of a body, up to the first byte that is not whitespace, to tell its
    format."""
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
