"""The channel itself: what the engine sends and shows, and what people write."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Sequence
from pathlib import Path

from hermes.channels.telegram.buttons import Button, keyboard_of
from hermes.channels.telegram.calls import Calls, Letter, letter_to
from hermes.channels.telegram.failures import TokenUnknown, Unchanged
from hermes.channels.telegram.line import Line
from hermes.channels.telegram.manifest import manifest_of
from hermes.channels.telegram.memory import Memory
from hermes.channels.telegram.numbers import Numbers, next_numbers
from hermes.channels.telegram.poll import Patience, poll_for_ever
from hermes.channels.telegram.receive import Receiver
from hermes.channels.telegram.render import draft_of, render, shows
from hermes.channels.telegram.settings import TOKEN_SECRET, TelegramSettings, WebhookSettings
from hermes.channels.telegram.translate import Manners
from hermes.channels.telegram.webhook import Hook, public_url
from hermes.core.channel import Command, Door, Known, Manifest
from hermes.core.errors import ChannelDown, ChannelFailed, ChannelRefused, Misconfigured
from hermes.core.ids import DEFAULT_ISOLATION, Isolation
from hermes.core.messages import Address, Media, Reply
from hermes.core.people import Role, Sender

COMMANDS_MAX = 100
SUMMARY_CHARS_MAX = 256
REFUSED_S = 60.0
DEFAULT_PATIENCE = Patience()

_COMMAND_NAME = re.compile(r"/([a-z0-9_]{1,32})")

log = logging.getLogger("hermes.channels.telegram")


class TelegramChannel:
    """Channel, Screen and Ear. `memory` is a folder for what must outlive the process."""

    def __init__(
        self,
        settings: TelegramSettings,
        *,
        memory: Path,
        isolation: Isolation = DEFAULT_ISOLATION,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._settings = settings
        self._manifest = manifest_of(settings)
        self._isolation = isolation
        self._patience = patience
        self._memory = Memory(memory)
        self._line = Line(settings)
        self._numbers = Numbers()
        self._calls = Calls(self._line, self._numbers)

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    def role(self, sender: Sender) -> Role:
        """By ids alone. Who is named in the settings is an owner; who is let in by a chat may talk
        there, and nowhere else."""
        if sender.id in self._settings.allowed_users:
            return Role.OWNER
        let_in = sender.address.chat in self._settings.allowed_chats
        return Role.MEMBER if let_in else Role.STRANGER

    async def aclose(self) -> None:
        await self._line.aclose()

    # ── channel ─────────────────────────────────────────────────────────────────────────────────

    def render(self, text: str) -> Sequence[str]:
        return render(text)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Telegram knows no keys, so `key` is of no use here: who is in doubt looks (C51)."""
        letter = await self._letter(reply, chunk)
        message = await self._calls.say(letter)
        log.debug("%s is message %d", key, message)
        return str(message)

    async def _letter(self, reply: Reply, chunk: str) -> Letter:
        """Buttons stand under the last chunk, which may have words before it (C51)."""
        buttons: Sequence[Sequence[Button]] = ()
        last = render(reply.text)[-1] if reply.buttons and reply.text.strip() else chunk
        if reply.buttons and (chunk == last or chunk.endswith(f"\n\n{last}")):
            buttons = keyboard_of(reply)
            for button in (button for row in buttons for button in row if button.kept):
                await self._memory.put("buttons", button.code.rpartition("#")[2], button.kept)
        address = reply.address
        return Letter(
            chat=address.chat, thread=address.thread, text=chunk, marked=True, buttons=buttons
        )

    # ── screen ──────────────────────────────────────────────────────────────────────────────────

    async def draft(self, address: Address, text: str) -> str:
        return str(await self._calls.say(letter_to(address, draft_of(text))))

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        with contextlib.suppress(Unchanged):
            await self._calls.change(letter_to(address, draft_of(text)), _message(receipt))

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        letter = await self._letter(reply, chunk)
        with contextlib.suppress(Unchanged):
            await self._calls.change(letter, _message(receipt))
        return receipt

    async def remove(self, address: Address, receipt: str) -> None:
        with contextlib.suppress(ChannelRefused):
            await self._calls.remove(address.chat, _message(receipt))

    async def typing(self, address: Address) -> None:
        await self._calls.typing(address)

    async def attach(self, reply: Reply, media: Media, content: bytes, *, key: str) -> str:
        message = await self._calls.attach(reply.address, media, content)
        log.debug("%s is message %d", key, message)
        return str(message)

    def end_of(self, address: Address) -> str:
        last = self._numbers.last(address.chat)
        return str(last) if last else ""

    async def find(self, reply: Reply, chunks: Sequence[str], *, behind: str, known: Known) -> str:
        """Ours has one of the next numbers, if any. What is exactly what we would say, and ours,
        and no other reply's, cannot be anything else."""
        address = reply.address
        for message in next_numbers(address.chat, behind):
            if self._numbers.is_sent(address.chat, message):
                continue
            seen = await self._calls.look(address, message)
            if seen is None or seen.sender != self._settings.bot_id:
                continue
            if not any(shows(seen.text, chunk) for chunk in chunks) or await known(str(message)):
                continue
            if self._numbers.is_sent(address.chat, message):
                continue  # another reply in doubt has found it meanwhile
            self._numbers.sent(address.chat, message)
            log.info("%s had arrived: it is message %d", reply.id, message)
            return str(message)
        log.info("%s was not found behind message %s", reply.id, behind)
        return ""

    # ── ear ─────────────────────────────────────────────────────────────────────────────────────

    async def listen(self, door: Door) -> None:
        for notice in self._settings.notices:
            log.warning("%s", notice)
        try:
            await self._listen(door)
        except TokenUnknown as unknown:
            problem = f"{unknown}: there is no bot with this token at {self._settings.api_base}"
            fix = f"Get the token from @BotFather and run: hermes config set {TOKEN_SECRET} -"
            raise Misconfigured("platforms.telegram.token", problem, fix) from None
        except ChannelRefused as refused:
            raise ChannelDown(str(refused), delay_s=REFUSED_S) from None

    async def _listen(self, door: Door) -> None:
        me = await self._line.me()
        receiver = Receiver(
            me=me,
            door=door,
            calls=self._calls,
            numbers=self._numbers,
            memory=self._memory,
            manners=Manners(
                require_mention=self._settings.require_mention,
                isolation=self._isolation,
                commands=frozenset(command.name for command in door.commands),
            ),
        )
        hook = self._settings.webhook
        if hook is None:
            await self._line.listen_by_poll()
            door.connected()
            await self._register(door.commands)
            timeout_s, patience = self._settings.poll_s, self._patience
            await poll_for_ever(self._line, receiver, timeout_s=timeout_s, patience=patience)
        else:
            async with Hook(hook, receiver).open():
                await self._hook_up(hook)
                door.connected()
                await self._register(door.commands)
                await asyncio.get_running_loop().create_future()

    async def _hook_up(self, hook: WebhookSettings) -> None:
        try:
            await self._line.listen_by_hook(public_url(hook), hook.secret)
        except ChannelRefused as refused:
            fix = "Use an https:// address that Telegram can reach, on port 443, 80, 88 or 8443"
            raise Misconfigured("platforms.telegram.webhook.url", str(refused), fix) from None

    async def _register(self, commands: Sequence[Command]) -> None:
        """So that people see them when they type a slash. Without it all works as well."""
        try:
            await self._line.register(listed(commands))
        except ChannelFailed as failed:
            log.warning("the commands could not be listed at Telegram: %s", failed)


def listed(commands: Sequence[Command]) -> Sequence[tuple[str, str]]:
    """Those that Telegram can list, by its rules: lower case, few characters, a summary."""
    found = []
    for command in commands:
        name = _COMMAND_NAME.fullmatch(command.name)
        if name is not None:
            words = (
                f"{command.argument}: {command.summary}" if command.argument else command.summary
            )
            found.append((name[1], words[:SUMMARY_CHARS_MAX] or name[1]))
    return found[:COMMANDS_MAX]


def _message(receipt: str) -> int:
    """Raises ChannelRefused for a receipt that Telegram cannot have given."""
    if not receipt.isdecimal():
        raise ChannelRefused("that message is none of Telegram's")
    return int(receipt)
