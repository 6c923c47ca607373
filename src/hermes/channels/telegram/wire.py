"""The HTTP below the Bot API: the library's own client, with what we must see kept aside.

The library refuses a whole batch of updates for one that it cannot parse, and turns a flood wait
into a number that it warns about; so both are read here, before it sees them.
"""

import ipaddress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Raw, Struct
from telegram import Bot
from telegram.error import NetworkError, TelegramError
from telegram.request import HTTPXRequest

from hermes.channels.telegram.settings import TelegramSettings

CONNECTIONS_MAX: Final = 32
CONNECT_S: Final = 10.0
ANSWER_S: Final = 20.0
UPLOAD_S: Final = 120.0
POOL_S: Final = 20.0
FLOOD_S: Final = 5.0  # where a server says that it is too much, and not for how long


class FloodWait(TelegramError):
    """Nothing more for `delay_s`, says Telegram."""

    def __init__(self, delay_s: float) -> None:
        super().__init__(f"Telegram wants a pause of {delay_s:g} s")
        self.delay_s = delay_s


class _Parameters(Struct):
    retry_after: float = FLOOD_S


class _Answer(Struct):
    ok: bool
    parameters: _Parameters | None = None


class _Batch(Struct):
    result: tuple[Raw, ...]


class Request(HTTPXRequest):
    """Everything but polling."""

    async def do_request(
        self, url: str, method: str, *rest: Any, **named: Any
    ) -> tuple[int, bytes]:
        status, body = await super().do_request(url, method, *rest, **named)
        if method != "POST":  # a file
            return status, body
        answer = _decoded(body)
        if status == httpx.codes.TOO_MANY_REQUESTS:
            wait = answer.parameters if answer is not None else None
            raise FloodWait((wait or _Parameters()).retry_after)
        if answer is None and status == httpx.codes.OK:
            raise NetworkError("the answer is not the Bot API's")
        return status, body if answer is not None else b"{}"  # a proxy's page says nothing to us


class PollRequest(Request):
    """Polling: each batch is kept as it came, and the library sees an empty one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.batch: tuple[Raw, ...] = ()

    async def do_request(
        self, url: str, method: str, *rest: Any, **named: Any
    ) -> tuple[int, bytes]:
        self.batch = ()
        status, body = await super().do_request(url, method, *rest, **named)
        if status != httpx.codes.OK:
            return status, body
        try:
            self.batch = msgspec.json.decode(body, type=_Batch).result
        except msgspec.MsgspecError as wrong:
            raise NetworkError("the answer has no list of updates") from wrong
        return status, b'{"ok":true,"result":[]}'


@dataclass(frozen=True)
class Wires:
    """One bot: what is asked of it, and the long poll on a connection of its own."""

    bot: Bot
    asking: Request
    polling: PollRequest

    async def rebuild_poll(self) -> None:
        await self.polling.shutdown()
        await self.polling.initialize()

    async def aclose(self) -> None:
        await self.asking.shutdown()
        await self.polling.shutdown()


def connect(settings: TelegramSettings) -> Wires:
    """Nothing is sent yet."""
    secure = settings.api_base.startswith("https://")
    client = {
        "trust_env": not is_loopback(settings.api_base),
        # Certificates are read once, and for TLS only: they cost 30 ms and some memory.
        "verify": httpx.create_ssl_context() if secure else False,
        "follow_redirects": False,  # a redirect would carry the token to another host
    }
    asking = Request(
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


def _decoded(body: bytes) -> _Answer | None:
    """Every answer of the Bot API is such an object."""
    try:
        return msgspec.json.decode(body, type=_Answer)
    except msgspec.MsgspecError:
        return None
