"""Telegram as a `ChannelPlugin`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.channels.kit.plugin import (
    ChannelParts,
    ChannelPlugin,
    Raw,
    RoleOf,
    SetupCheck,
    SetupOffer,
    SetupQuestion,
)
from hermes.channels.telegram.settings import API_BASE, KEYS, TOKEN_SECRET, TelegramSettings
from hermes.channels.telegram.settings import telegram_settings as read_settings
from hermes.core.ids import Isolation
from hermes.core.messages import Address
from hermes.lazy import LazyModule
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.channels.telegram import bot_token, client
else:
    bot_token = LazyModule("hermes.channels.telegram.bot_token")
    client = LazyModule("hermes.channels.telegram.client")

OFFER = SetupOffer(ask="Talk to people on Telegram?", help="a Telegram bot")
QUESTIONS = (
    SetupQuestion(
        key=TOKEN_SECRET,
        ask="Its token, from @BotFather",
        where="https://t.me/BotFather: send /newbot, choose a name, and copy the token",
        secret=True,
        stand_in=f"12345678:{'a-token' * 5}",
        noun="token",
        in_section="token",
        form=r"[0-9]{5,16}:[A-Za-z0-9_-]{30,64}",
        malformed="does not look like a token: digits, a colon, and about 35 characters",
        fix="Copy it again from @BotFather",
        checked=True,
        option="token",
        help="read its token from standard input, after the line of --key-stdin",
        missing="Telegram needs the bot's token",
        example="what @BotFather gave you",
    ),
    SetupQuestion(
        key="allowed_users",
        ask="Who may write to it (their numeric ids, with commas)",
        where="Write to the bot: it tells strangers their id",
        kind="ids",
        needed=False,
        option="allow",
        help="who may write to it: 123,456",
        left_out="No one may write to it yet. Add ids later",
        example="'[12345678]'",
    ),
)


class TelegramPlugin:
    name = "telegram"
    title = "Telegram"
    docs = "TELEGRAM.md"
    extra = "telegram"
    packages = ("telegram",)
    keys = KEYS
    folders = ("telegram",)
    offer = OFFER
    questions = QUESTIONS
    test_message = "Hermes is here. Write to me whenever you like."

    def owner_chat(self, raw: Raw) -> Address | None:
        """Return the first person's private chat, which has that person's id."""
        people = raw.get("allowed_users")
        first = people[0] if isinstance(people, Sequence) and people else None
        return Address(platform=self.name, chat=str(first)) if isinstance(first, int) else None

    def read(self, raw: Raw, secrets: Mapping[str, str]) -> TelegramSettings:
        return read_settings(raw, secrets)

    def make(self, home: Path, settings: Settings, raw: Raw) -> ChannelParts:
        parsed, chosen = self.read(raw, settings.secrets), settings.sessions
        telegram = client.TelegramChannel(
            parsed,
            memory=home / self.name,
            isolation=Isolation(groups=chosen.groups, threads=chosen.threads),
        )
        hook = parsed.webhook
        listens = (("platforms.telegram.webhook", hook.host, hook.port),) if hook else ()
        return ChannelParts(
            channel=telegram,
            receiver=telegram,
            screen=telegram,
            role=telegram.role,
            close=telegram.aclose,
            listens=listens,
            preflight=telegram.preflight,
        )

    def role(self, raw: Raw, secrets: Mapping[str, str]) -> RoleOf | None:
        return self.read(raw, secrets).common.role

    async def check(self, raw: Raw, secrets: Mapping[str, str]) -> SetupCheck:
        """Ask who the bot is. Only the token and the address are read: the rest of the section may
        be incomplete."""
        own = _text(raw, "token")
        base = (_text(raw, "api_base") or API_BASE).rstrip("/").removesuffix("/bot")
        match await bot_token.check(own or secrets.get(TOKEN_SECRET, ""), base):
            case bot_token.BotIdentity(name=name):
                said, link = f"@{name} is known there", f"https://t.me/{name}"
                return SetupCheck(ok=True, said=said, name=f"@{name}", link=link)
            case bot_token.BotRejected():
                key = "platforms.telegram.token" if own else TOKEN_SECRET
                fix = f"hermes config set {key} -"
                return SetupCheck(ok=False, said="Telegram does not know this token", fix=fix)
            case bot_token.BotUnreachable():
                said = f"{base} cannot be reached from here"
                fix = f"curl -sS -o /dev/null -w '%{{http_code}}\\n' {base}"
                return SetupCheck(ok=None, said=said, fix=fix)


def _text(section: Raw, key: str) -> str:
    value = section.get(key)
    return value if isinstance(value, str) else ""


PLUGIN: Final[ChannelPlugin] = TelegramPlugin()
