"""The HTTP below the Bot API: the library's own client, with what we must see kept aside.

The library refuses a whole batch of updates for one that it cannot parse, and fails in unforeseen
ways when an answer is not what it expects; so all of them are read here, before it sees them.
"""

import ipaddress
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from msgspec import Raw, Struct
from telegram import Bot
from telegram.request import HTTPXRequest

from hermes.channels.telegram.answers import (
    UNREADABLE,
    NotOk,
    OddAnswer,
    checked,
    decoded,
    is_success,
)
from hermes.channels.telegram.settings import TelegramSettings

CONNECTIONS_MAX: Final = 32
CONNECT_S: Final = 10.0
ANSWER_S: Final = 20.0
UPLOAD_S: Final = 120.0
POOL_S: Final = 20.0
ANSWER_BYTES_MAX: Final = 32_000_000  # the largest file that a bot may fetch has 20 MB
FILE: Final = "file"  # instead of a method's name


class _Batch(Struct):
    result: tuple[Raw, ...]


def _updates(body: bytes) -> tuple[Raw, ...]:
    """Return the raw updates. One that cannot be read does not hold up the others."""
    try:
        return decoded(body, _Batch).result
    except UNREADABLE as wrong:
        raise OddAnswer("its answer has no list of updates", status=httpx.codes.OK) from wrong


class BotRequest(HTTPXRequest):
    """The HTTP client for all calls except polling."""

    async def do_request(
        self, url: str, method: str, *rest: Any, **named: Any
    ) -> tuple[int, bytes]:
        status, body = await super().do_request(url, method, *rest, **named)
        if method == "POST":
            return status, checked(status, body, url.rpartition("/")[2])
        if not is_success(status):
            raise NotOk(f"status {status}", status=status, method=FILE)
        return status, body


class PollRequest(BotRequest):
    """The HTTP client for polling: it keeps each batch as it came, and shows the library an empty
    one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.batch: tuple[Raw, ...] = ()

    async def do_request(
        self, url: str, method: str, *rest: Any, **named: Any
    ) -> tuple[int, bytes]:
        self.batch = ()
        status, body = await HTTPXRequest.do_request(self, url, method, *rest, **named)
        empty = checked(status, body, "getUpdates")
        self.batch = _updates(body)
        return status, empty


async def _bounded(response: httpx.Response) -> None:
    """Read at most as much of an answer as the largest valid one has."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _Bounded(response.stream)


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ANSWER_BYTES_MAX
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise httpx.ReadError(f"the answer is longer than {ANSWER_BYTES_MAX:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass(frozen=True)
class Wires:
    """The connections of one bot: one for calls, and one for the long poll."""

    bot: Bot
    asking: BotRequest
    polling: PollRequest

    async def rebuild_poll(self) -> None:
        await self.polling.shutdown()
        await self.polling.initialize()

    async def aclose(self) -> None:
        await self.asking.shutdown()
        await self.polling.shutdown()


def connect(settings: TelegramSettings) -> Wires:
    """Make the clients. Nothing is sent yet."""
    secure = settings.api_base.startswith("https://")
    client = {
        "trust_env": not is_loopback(settings.api_base),
        # Certificates are read once, and for TLS only: they cost 30 ms and some memory.
        "verify": httpx.create_ssl_context() if secure else False,
        "follow_redirects": False,  # a redirect would carry the token to another host
        "event_hooks": {"response": [_bounded]},
    }
    asking = BotRequest(
        connection_pool_size=CONNECTIONS_MAX,
        connect_timeout=CONNECT_S,
        read_timeout=ANSWER_S,
        write_timeout=ANSWER_S,
        media_write_timeout=UPLOAD_S,
        pool_timeout=POOL_S,
        httpx_kwargs=client,
    )
    polling = PollRequest(
        connection_pool_size=1,
        connect_timeout=CONNECT_S,
        read_timeout=ANSWER_S,
        write_timeout=ANSWER_S,
        pool_timeout=POOL_S,
        httpx_kwargs=client,
    )
    bot = Bot(
        settings.token,
        base_url=f"{settings.api_base}/bot",
        base_file_url=f"{settings.api_base}/file/bot",
        request=asking,
        get_updates_request=polling,
    )
    return Wires(bot, asking, polling)


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
