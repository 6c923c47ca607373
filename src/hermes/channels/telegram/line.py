"""The connection to Telegram: one bot, opened when it is first needed. I/O.

Every failure is raised as a ChannelFailed, without the token.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from msgspec import Raw
from telegram import Bot, BotCommand
from telegram.error import TelegramError

from hermes.channels.telegram.failures import failure
from hermes.channels.telegram.settings import TelegramSettings
from hermes.channels.telegram.translate import Me
from hermes.channels.telegram.updates import WANTED
from hermes.channels.telegram.wire import Wires, connect
from hermes.core.errors import ChannelSilent

ASK_S_MAX = 60.0  # for one call, from its first byte to its last
HOOK_CONNECTIONS_MAX = 10
LIBRARIES = ("httpx", "httpcore", "telegram")

_T = TypeVar("_T")


class BotConnection:
    def __init__(self, settings: TelegramSettings) -> None:
        self._settings = settings
        self._made: Wires | None = None
        for library in LIBRARIES:  # they log addresses, and the token stands in those
            logging.getLogger(library).setLevel(logging.WARNING)

    @property
    def bot(self) -> Bot:
        return self._wires.bot

    async def ask(self, call: Awaitable[_T], *, within_s: float = ASK_S_MAX) -> _T:
        """Make a call. Raise ChannelFailed. An answer that never ends is given up."""
        try:
            async with asyncio.timeout(within_s):
                return await call
        except TelegramError as error:
            raise failure(error, hide=self._settings.token) from None
        except TimeoutError:
            why = f"Telegram did not answer within {within_s:g} s"
            raise ChannelSilent(why, delay_s=0.0) from None

    def serves(self, url: str) -> bool:
        """Return True for a file on Telegram's server. Where an answer names a local path, the
        library would open a file of this machine instead."""
        return url.startswith(f"{self._settings.api_base}/file/bot")

    async def me(self) -> Me:
        user = await self.ask(self.bot.get_me())
        return Me(user.id, user.username or f"bot{user.id}")

    async def register(self, commands: Sequence[tuple[str, str]]) -> None:
        listed = [BotCommand(name, summary) for name, summary in commands]
        await self.ask(self.bot.set_my_commands(listed))

    async def listen_by_poll(self) -> None:
        """Remove the webhook, because it excludes polling. Waiting updates are kept."""
        await self.ask(self.bot.delete_webhook(drop_pending_updates=False))

    async def listen_by_hook(self, url: str, secret: str) -> None:
        hooked = self.bot.set_webhook(
            url,
            secret_token=secret,
            allowed_updates=WANTED,
            max_connections=HOOK_CONNECTIONS_MAX,
            drop_pending_updates=False,
        )
        await self.ask(hooked)

    async def poll(self, offset: int, *, timeout_s: float, silence_s: float) -> Sequence[Raw]:
        """Return the updates from `offset` on; asking confirms those before it."""
        polling = self._wires.polling
        asked = self.bot.get_updates(
            offset=offset or None,
            timeout=int(timeout_s),
            read_timeout=silence_s,  # beyond the time-out
            allowed_updates=WANTED,
        )
        await self.ask(asked, within_s=timeout_s + silence_s)
        return polling.batch

    async def rebuild_poll(self) -> None:
        """Close the connection and open another: a half-open socket reports nothing."""
        await self._wires.rebuild_poll()

    async def aclose(self) -> None:
        made, self._made = self._made, None
        if made is not None:
            await made.aclose()

    @property
    def _wires(self) -> Wires:
        if self._made is None:
            self._made = connect(self._settings)
        return self._made
