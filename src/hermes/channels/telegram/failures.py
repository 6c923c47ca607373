"""What Telegram answers when it does not do as asked, in the words of core/errors. Pure."""

import httpx
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    TelegramError,
)

from hermes.channels.telegram.wire import FloodWait
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


_BAD: tuple[tuple[str, type[ChannelRefused]], ...] = (
    ("can't parse entities", Unreadable),
    ("message is not modified", Unchanged),
    ("message thread not found", NoThread),
)


def failure(error: TelegramError, *, hide: str) -> ChannelFailed:
    """`hide` is the token: it stands in addresses, and addresses stand in errors."""
    said = str(error).replace(hide, "•••").rstrip(".")
    match error:
        case FloodWait():
            return ChannelBusy(said, delay_s=min(error.delay_s, FLOOD_S_MAX))
        case ChatMigrated():
            return Moved(said, str(error.new_chat_id))
        case InvalidToken():
            return TokenUnknown(f"Telegram says: {said}", delay_s=TOKEN_S)
        case Conflict():
            problem = "another program polls this bot, or its webhook is set; stop that one"
            return PolledElsewhere(problem, delay_s=CONFLICT_S)
        case BadRequest():
            refused = next((kind for words, kind in _BAD if words in said.lower()), ChannelRefused)
            return refused(f"Telegram says: {said}")
        case Forbidden():
            return ChannelRefused(f"Telegram says: {said}")
        case _ if "too large" in said.lower():  # a file, with a status of its own
            return ChannelRefused(f"Telegram says: {said}")
        case _ if _left_unanswered(error):
            return ChannelSilent(f"Telegram did not answer: {said}", delay_s=AGAIN_S)
        case _:
            return ChannelDown(f"Telegram cannot be reached: {said}", delay_s=AGAIN_S)


def _left_unanswered(error: TelegramError) -> bool:
    """The request had left when the connection broke, so it may have been obeyed."""
    cause = error.__cause__
    never_left = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
    return isinstance(cause, httpx.TransportError) and not isinstance(cause, never_left)
