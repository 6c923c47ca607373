"""The channel: what the engine sends and shows, and what people write."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes.channels.kit.memory import ChannelMemory
from hermes.channels.kit.receipts import Receipts
from hermes.channels.kit.reception import Reception
from hermes.channels.telegram.buttons import Button, keyboard_of
from hermes.channels.telegram.calls import BotApi, Letter, is_photo, letter_to
from hermes.channels.telegram.cards import OpenCards
from hermes.channels.telegram.failures import TokenUnknown, Unchanged
from hermes.channels.telegram.line import BotConnection
from hermes.channels.telegram.looking import Looking
from hermes.channels.telegram.manifest import TITLE, manifest_of
from hermes.channels.telegram.numbers import UpdateNumbers
from hermes.channels.telegram.poll import PollTimeouts, poll_for_ever
from hermes.channels.telegram.receive import TelegramCourier, TelegramReceiver
from hermes.channels.telegram.render import draft_of, render, shows
from hermes.channels.telegram.settings import (
    TOKEN_SECRET,
    TelegramSettings,
    TelegramWebhookSettings,
)
from hermes.channels.telegram.translate import Manners
from hermes.channels.telegram.webhook import WebhookReceiver, bound, public_url
from hermes.core.channel import ChannelHost, Command, IsReceipt, Manifest
from hermes.core.errors import ChannelDown, ChannelFailed, ChannelRefused, Misconfigured
from hermes.core.ids import DEFAULT_ISOLATION, Isolation, MessageId
from hermes.core.messages import Address, Media, Reply
from hermes.core.people import Role, Sender

COMMANDS_MAX = 100
SUMMARY_CHARS_MAX = 256
REFUSED_S = 60.0
PREFLIGHT_S = 10.0
DEFAULT_PATIENCE = PollTimeouts()

_COMMAND_NAME = re.compile(r"/([a-z0-9_]{1,32})")

log = logging.getLogger("hermes.channels.telegram")


class TelegramChannel:
    """Channel, Screen and Receiver. `memory` is a folder for what must outlive the process."""

    def __init__(
        self,
        settings: TelegramSettings,
        *,
        memory: Path,
        isolation: Isolation = DEFAULT_ISOLATION,
        patience: PollTimeouts = DEFAULT_PATIENCE,
    ) -> None:
        self._settings = settings
        self._manifest = manifest_of(settings)
        self._isolation = isolation
        self._patience = patience
        self._memory = ChannelMemory(memory)
        self._line = BotConnection(settings)
        self._numbers = UpdateNumbers()
        self._calls = BotApi(self._line, self._numbers)
        self._looking = Looking(self._calls, self._numbers, settings.bot_id)
        self._cards = OpenCards(self._memory, self._calls)
        self._receipts = Receipts(self, self._memory, self._manifest)
        self._host: ChannelHost | None = None

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    def role(self, sender: Sender) -> Role:
        return self._settings.common.role(sender)

    async def aclose(self) -> None:
        await self._receipts.close()
        await self._line.aclose()

    # ── channel ─────────────────────────────────────────────────────────────────────────────────

    def render(self, text: str) -> Sequence[str]:
        return render(text)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Send a chunk. Telegram has no idempotency keys, so `key` is unused; a send in doubt is
        looked for instead (C51)."""
        letter = _letter(reply, chunk)
        message = await self._calls.say(letter)
        log.debug("%s is message %d", key, message)
        if letter.buttons:
            await self._cards.shown(reply, message)
        self._receipts.answered(self._host, reply)
        return str(message)

    # ── screen ──────────────────────────────────────────────────────────────────────────────────

    async def draft(self, address: Address, text: str) -> str:
        return str(await self._calls.say(letter_to(address, draft_of(text))))

    def draft_text(self, text: str) -> str:
        return draft_of(text)

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        with contextlib.suppress(Unchanged):
            await self._calls.change(letter_to(address, draft_of(text)), _message(receipt))

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        letter = _letter(reply, chunk)
        with contextlib.suppress(Unchanged):
            await self._calls.change(letter, _message(receipt))
        if letter.buttons:
            await self._cards.shown(reply, _message(receipt))
        self._receipts.answered(self._host, reply)
        return receipt

    async def remove(self, address: Address, receipt: str) -> None:
        with contextlib.suppress(ChannelRefused):
            await self._calls.remove(address.chat, _message(receipt))

    async def typing(self, address: Address) -> None:
        await self._calls.typing(address)

    async def react(self, address: Address, message: MessageId, sign: str) -> None:
        """Set a reaction. A message's id ends with its number; a pressed button's has none."""
        number = message.removeprefix(f"{address.chat}:").partition(":")[0]
        if number.isdecimal():
            await self._calls.react(address.chat, int(number), sign)

    async def attach(
        self, reply: Reply, media: Media, content: bytes, *, key: str, caption: str = ""
    ) -> str:
        message = await self._calls.attach(reply.address, media, content, caption)
        log.debug("%s is message %d", key, message)
        return str(message)

    def end_of(self, address: Address) -> str:
        last = self._numbers.last(address.chat)
        return str(last) if last else ""

    async def find(
        self, address: Address, chunks: Sequence[str], *, behind: str, known: IsReceipt
    ) -> str:
        """Find a message that has exactly our text, is the bot's, and is not the message of another
        reply."""
        return await self._looking.behind(
            address, behind, known, lambda seen: any(shows(seen.text, chunk) for chunk in chunks)
        )

    async def find_file(
        self, address: Address, media: Media, size: int, *, key: str, behind: str, known: IsReceipt
    ) -> str:
        """Find a file by name and size; a voice message has no name, a picture has neither."""
        if is_photo(media, size):
            log.info("%s may have arrived; pictures cannot be told apart", key)
            return ""
        names = ("", media.name or "file")
        return await self._looking.behind(
            address, behind, known, lambda seen: seen.size == size and seen.name in names
        )

    # ── receiver ────────────────────────────────────────────────────────────────────────────────

    async def listen(self, host: ChannelHost) -> None:
        for notice in self._settings.notices:
            log.warning("%s", notice)
        try:
            await self._listen(host)
        except TokenUnknown as unknown:
            raise _no_bot(unknown, self._settings.api_base) from None
        except ChannelRefused as refused:
            raise ChannelDown(str(refused), delay_s=REFUSED_S) from None

    async def preflight(self, held: Callable[[str, int], bool]) -> None:
        """Raise Misconfigured when `listen` would. A platform that cannot be reached is no wrong
        setting; an address that is `held` is not tried."""
        hook = self._settings.webhook
        if hook is not None and not held(hook.host, hook.port):
            bound(hook).close()
        try:
            async with asyncio.timeout(PREFLIGHT_S):
                await self._line.me()
        except TokenUnknown as unknown:
            raise _no_bot(unknown, self._settings.api_base) from None
        except (ChannelFailed, TimeoutError) as away:
            log.info("the token was not checked: %s", away)

    async def _listen(self, host: ChannelHost) -> None:
        me, self._host = await self._line.me(), host
        receiver = TelegramReceiver(
            me=me,
            host=host,
            calls=self._calls,
            numbers=self._numbers,
            cards=self._cards,
            manners=Manners(
                require_mention=self._settings.common.require_mention,
                isolation=self._isolation,
                commands=frozenset(command.name for command in host.commands),
                named=self._settings.common.allowed_users,
            ),
            reception=Reception(
                title=TITLE,
                host=host,
                courier=TelegramCourier(self._calls),
                memory=self._memory,
                receipts=self._receipts,
            ),
        )
        async with self._cards.watched(host.store.library.question):
            hook = self._settings.webhook
            if hook is None:
                await self._line.listen_by_poll()
                host.connected()
                await _register(self._line, host.commands)
                timeout_s, patience = self._settings.poll_s, self._patience
                await poll_for_ever(self._line, receiver, timeout_s=timeout_s, patience=patience)
            else:
                async with WebhookReceiver(hook, receiver).open():
                    await _hook_up(self._line, hook)
                    host.connected()
                    await _register(self._line, host.commands)
                    await asyncio.get_running_loop().create_future()


def _letter(reply: Reply, chunk: str) -> Letter:
    """Return the message for a chunk. Buttons go under the last chunk, which may have words before
    it (C51)."""
    buttons: Sequence[Sequence[Button]] = ()
    last = render(reply.text)[-1] if reply.buttons and reply.text.strip() else chunk
    if reply.buttons and (chunk == last or chunk.endswith(f"\n\n{last}")):
        buttons = keyboard_of(reply)
    address = reply.address
    return Letter(
        chat=address.chat, thread=address.thread, text=chunk, marked=True, buttons=buttons
    )


async def _hook_up(line: BotConnection, hook: TelegramWebhookSettings) -> None:
    try:
        await line.listen_by_hook(public_url(hook), hook.secret)
    except ChannelRefused as refused:
        fix = "Use an https:// address that Telegram can reach, on port 443, 80, 88 or 8443"
        raise Misconfigured("platforms.telegram.webhook.url", str(refused), fix) from None


async def _register(line: BotConnection, commands: Sequence[Command]) -> None:
    """List the commands at Telegram, so that people see them when they type a slash. A failure is
    only logged."""
    try:
        await line.register(listed(commands))
    except ChannelFailed as failed:
        log.warning("the commands could not be listed at Telegram: %s", failed)


def listed(commands: Sequence[Command]) -> Sequence[tuple[str, str]]:
    """Return the commands that Telegram can list: lower case, few characters, a summary."""
    found = []
    for command in commands:
        name = _COMMAND_NAME.fullmatch(command.name)
        if name is not None:
            words = (
                f"{command.argument}: {command.summary}" if command.argument else command.summary
            )
            found.append((name[1], words[:SUMMARY_CHARS_MAX] or name[1]))
    return found[:COMMANDS_MAX]


def _no_bot(unknown: TokenUnknown, api_base: str) -> Misconfigured:
    problem = f"{unknown}: there is no bot with this token at {api_base}"
    fix = f"Get the token from @BotFather and run: hermes config set {TOKEN_SECRET} -"
    return Misconfigured("platforms.telegram.token", problem, fix)


def _message(receipt: str) -> int:
    """Return the message id of a receipt. Raise ChannelRefused for one that is not Telegram's."""
    if not receipt.isdecimal():
        raise ChannelRefused("this message is not from Telegram")
    return int(receipt)
