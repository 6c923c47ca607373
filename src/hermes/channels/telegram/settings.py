"""`platforms.telegram` as a value: every key is checked, and an error names the fix."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from hermes.channels.kit.settings import COMMON_KEYS, CommonSettings, IdForm, SectionReader
from hermes.core.errors import Misconfigured

API_BASE = "https://api.telegram.org"
TOKEN_SECRET = "TELEGRAM_BOT_TOKEN"  # noqa: S105 (a name, not a token)
WEBHOOK_SECRET = "TELEGRAM_WEBHOOK_SECRET"  # noqa: S105
POLL_S, POLL_S_MAX = 25.0, 50.0
PORT = 8643
SECRET_CHARS_MIN = 16

NOBODY = (
    "platforms.telegram.allowed_users is empty, so the bot answers no one. Write to it, "
    "and it tells you your id. Then run: hermes config set platforms.telegram.allowed_users '[ID]'"
)

_AT = "platforms.telegram"
IDS = IdForm(
    re.compile(r"-?[0-9]{1,20}"),
    "Write ids, not names: [12345678]. The bot tells strangers their id",
)
_WEBHOOK_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True, kw_only=True)
class TelegramWebhookSettings:
    """Telegram calls `url`, and the proxy in front of us forwards that to `host` and `port`."""

    url: str
    host: str = "127.0.0.1"
    port: int = PORT
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class TelegramSettings:
    """The section as a value. Its text form hides the token and the secret."""

    token: str = field(repr=False)
    api_base: str = API_BASE  # without /bot
    common: CommonSettings = field(default_factory=CommonSettings)
    mode: Literal["polling", "webhook"] = "polling"
    poll_s: float = POLL_S
    webhook: TelegramWebhookSettings | None = None

    @property
    def bot_id(self) -> int:
        """The bot's id, with which every token begins; -1 for a token of another form."""
        number = self.token.partition(":")[0]
        return int(number) if number.isdecimal() else -1

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings for the owner at a start."""
        return () if self.common.allowed_users or self.common.allowed_chats else (NOBODY,)


def telegram_settings(
    raw: Mapping[str, object], secrets: Mapping[str, str] | None = None
) -> TelegramSettings:
    """Read the section. Raise Misconfigured for the first problem."""
    known = secrets or {}
    section = SectionReader(raw, _AT, KEYS)
    mode = section.one_of("mode", ("polling", "webhook"), "polling")
    return TelegramSettings(
        token=_token(section.text("token", known.get(TOKEN_SECRET, ""))),
        api_base=_api_base(section.text("api_base", API_BASE)),
        common=section.common(IDS),
        mode="webhook" if mode == "webhook" else "polling",
        poll_s=section.number("poll_s", POLL_S, least=1.0, most=POLL_S_MAX),
        webhook=_webhook(section, known, used=mode == "webhook"),
    )


KEYS = (*COMMON_KEYS, "token", "api_base", "mode", "poll_s", "webhook")
_WEBHOOK_KEYS = ("url", "host", "port", "secret")


def _token(token: str) -> str:
    if not token:
        fix = f"Get one from @BotFather and run: hermes config set {TOKEN_SECRET} -"
        raise Misconfigured(f"{_AT}.token", "it is not set", fix)
    if not re.fullmatch(r"[\w:.-]+", token, re.ASCII):
        fix = "Copy it from @BotFather again: digits, a colon, letters"
        raise Misconfigured(f"{_AT}.token", "it has characters that no token has", fix)
    return token


def _api_base(url: str) -> str:
    base = url.rstrip("/").removesuffix("/bot").rstrip("/")
    if not _is_url(base, ("http", "https")):
        raise Misconfigured(f"{_AT}.api_base", "it is not a URL", f"Write {API_BASE} or your own")
    return base


def _webhook(
    section: SectionReader, secrets: Mapping[str, str], *, used: bool
) -> TelegramWebhookSettings | None:
    """Read the webhook's section. An unused one may be incomplete, but not misspelt."""
    given = section.section("webhook", _WEBHOOK_KEYS)
    if not used:
        return None
    url = given.text("url").rstrip("/")
    if not _is_url(url, ("https", "http")):
        fix = "Write the https:// address under which Telegram reaches this machine"
        raise given.wrong("url", "it is not a URL" if url else "it is not set", fix)
    secret = given.text("secret", secrets.get(WEBHOOK_SECRET, ""))
    if not _WEBHOOK_TOKEN.fullmatch(secret) or len(secret) < SECRET_CHARS_MIN:
        problem = "it is too short or has odd characters" if secret else "it is not set"
        fix = f"Make up {SECRET_CHARS_MIN} to 256 letters and digits, and run: "
        fix += f"hermes config set {WEBHOOK_SECRET} -"
        raise given.wrong("secret", problem, fix)
    port = int(given.number("port", PORT, least=0, most=65_535))
    return TelegramWebhookSettings(
        url=url, host=given.text("host", "127.0.0.1"), port=port, secret=secret
    )


def _is_url(url: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and not parts.query
