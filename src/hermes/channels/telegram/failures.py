"""Turn Telegram's failures into the errors of core/errors. Pure."""

import httpx
from telegram.error import TelegramError

from hermes.channels.telegram.answers import FloodWait, NotOk, OddAnswer, is_success
from hermes.channels.telegram.wire import FILE
from hermes.core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelFailed,
    ChannelRefused,
    ChannelSilent,
)

AGAIN_S = 2.0
TOKEN_S = 60.0
CONFLICT_S = 10.0  # the poll that it lost to may be the last one of a process that is gone
FLOOD_S_MAX = 24 * 3600.0


class Unreadable(ChannelRefused):
    """Telegram does not understand the marks in the text."""


class Unchanged(ChannelRefused):
    """The message looks like that already."""


class NoThread(ChannelRefused):
    """The topic is gone; the chat is still there."""


class Moved(ChannelRefused):
    """A group became a larger one, with another id."""

    def __init__(self, reason: str, chat: str) -> None:
        super().__init__(reason)
        self.chat = chat


class TokenUnknown(ChannelDown):
    """Telegram knows no bot with this token."""


class PolledElsewhere(ChannelDown):
    """Another program asks for this bot's updates."""


class Garbled(ChannelSilent):
    """Telegram says that it did what we asked, in an answer that cannot be read."""


_BAD: tuple[tuple[str, type[ChannelRefused]], ...] = (
    ("can't parse entities", Unreadable),
    ("message is not modified", Unchanged),
    ("message thread not found", NoThread),
)


def failure(error: TelegramError, *, hide: str) -> ChannelFailed:
    """Return the error for a failure. `hide` is the token, which is part of URLs in error texts.

    Only the Bot API's own "not ok", and a request that was never sent, prove that nothing was done.
    Everything else is in doubt.
    """
    said = str(error).replace(hide, "•••").rstrip(".")
    match error:
        case FloodWait():
            return ChannelBusy(said, delay_s=min(error.delay_s, FLOOD_S_MAX))
        case NotOk():
            return _refusal(error, said)
        case OddAnswer(status=413):  # a proxy's limit
            return ChannelRefused(f"Telegram says: {said}")
        case OddAnswer() if is_success(error.status):
            return Garbled(f"Telegram may have taken it: {said}", delay_s=AGAIN_S)
        case _ if _never_left(error):
            return ChannelDown(f"Telegram cannot be reached: {said}", delay_s=AGAIN_S)
        case _:
            return ChannelSilent(f"Telegram did not answer: {said}", delay_s=AGAIN_S)


def _refusal(error: NotOk, said: str) -> ChannelFailed:
    told = f"Telegram says: {said}"
    match error.status:
        case _ if error.moved_to is not None:
            return Moved(told, str(error.moved_to))
        case 400 | 401 | 403 | 404 | 410 if error.method == FILE:  # it is not handed out
            return ChannelRefused(told)
        case 401:
            return TokenUnknown(told, delay_s=TOKEN_S)
        case 404 if error.method == "getMe":  # a token of a shape that none has
            return TokenUnknown(told, delay_s=TOKEN_S)
        case 404:
            return ChannelDown(f"{told} (to {error.method})", delay_s=AGAIN_S)
        case 409:
            problem = "another program polls this bot, or its webhook is set; stop that one"
            return PolledElsewhere(problem, delay_s=CONFLICT_S)
        case 400:
            refused = next((kind for words, kind in _BAD if words in said.lower()), ChannelRefused)
            return refused(told)
        case 403 | 413:
            return ChannelRefused(told)
        case _:
            return ChannelDown(f"Telegram cannot be reached: {said}", delay_s=AGAIN_S)


def _never_left(error: TelegramError) -> bool:
    """Return True if the request did not reach the server."""
    never = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
    return isinstance(error.__cause__, (*never, httpx.UnsupportedProtocol))
