"""`platforms.telegram` as a value: every key is checked, what is wrong is named with its fix."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from hermes.core.errors import Misconfigured
from hermes.views.rare import likely

API_BASE = "https://api.telegram.org"
TOKEN_SECRET = "TELEGRAM_BOT_TOKEN"  # noqa: S105 (a name, not a token)
WEBHOOK_SECRET = "TELEGRAM_WEBHOOK_SECRET"  # noqa: S105
POLL_S, POLL_S_MAX = 25.0, 50.0
PORT = 8643
SECRET_CHARS_MIN = 16

NOBODY = (
    "platforms.telegram.allowed_users is empty, so the bot answers nobody. Write to it: it tells "
    "you your id. Then run: hermes config set platforms.telegram.allowed_users '[ID]'"
)

_AT = "platforms.telegram"
_ID = re.compile(r"-?[0-9]{1,20}")
_WEBHOOK_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class WebhookSettings:
    """Telegram calls `url`, the proxy in front of us passes that on to `host` and `port`."""

    url: str
    host: str = "127.0.0.1"
    port: int = PORT
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class TelegramSettings:
    """The token and the secret do not show themselves."""

    token: str = field(repr=False)
    api_base: str = API_BASE  # without /bot
    allowed_users: frozenset[str] = frozenset()
    allowed_chats: frozenset[str] = frozenset()
    require_mention: bool = True
    mode: Literal["polling", "webhook"] = "polling"
    poll_s: float = POLL_S
    webhook: WebhookSettings | None = None
    drafts: bool = True
    banner: bool = True

    @property
    def bot_id(self) -> int:
        """The bot's own number: every token of Telegram's begins with it. -1: this one is odd."""
        number = self.token.partition(":")[0]
        return int(number) if number.isdecimal() else -1

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should hear at a start."""
        return () if self.allowed_users or self.allowed_chats else (NOBODY,)


def telegram_settings(
    raw: Mapping[str, object], secrets: Mapping[str, str] | None = None
) -> TelegramSettings:
    """Raises Misconfigured for the first thing that is wrong."""
    known = secrets or {}
    section = _Section(raw, _AT, (*_KEYS, "enabled"))
    mode = section.one_of("mode", ("polling", "webhook"), "polling")
    return TelegramSettings(
        token=_token(section.text("token", known.get(TOKEN_SECRET, ""))),
        api_base=_api_base(section.text("api_base", API_BASE)),
        allowed_users=section.ids("allowed_users"),
        allowed_chats=section.ids("allowed_chats"),
        require_mention=section.flag("require_mention", default=True),
        mode="webhook" if mode == "webhook" else "polling",
        poll_s=section.number("poll_s", POLL_S, least=1.0, most=POLL_S_MAX),
        webhook=_webhook(section, known, used=mode == "webhook"),
        drafts=section.flag("drafts", default=True),
        banner=section.flag("banner", default=True),
    )


_KEYS = (
    *("token", "api_base", "allowed_users", "allowed_chats", "require_mention"),
    *("mode", "poll_s", "webhook", "drafts", "banner"),
)
_WEBHOOK_KEYS = ("url", "host", "port", "secret")


class _Section:
    """One mapping, read key by key. An empty value is no value."""

    def __init__(self, raw: Mapping[str, object], at: str, keys: tuple[str, ...]) -> None:
        self._raw, self._at = raw, at
        for key in raw:
            if key not in keys:
                near = likely(str(key), keys)
                fix = f"Did you mean {at}.{near[0]}?" if near else f"There are: {', '.join(keys)}"
                raise Misconfigured(f"{at}.{key}", "there is no such setting", fix)

    def wrong(self, key: str, problem: str, fix: str) -> Misconfigured:
        return Misconfigured(f"{self._at}.{key}", problem, fix)

    def _value(self, key: str, default: _T, read: Callable[[object], _T | None], wanted: str) -> _T:
        given = self._raw.get(key)
        if given is None:
            return default
        value = read(given)
        if value is None:
            raise self.wrong(key, f"it is not {wanted}", f"Write {wanted}")
        return value

    def text(self, key: str, default: str = "") -> str:
        given = self._value(key, default, lambda v: v if isinstance(v, str) else None, "text")
        return given.strip() or default

    def flag(self, key: str, *, default: bool) -> bool:
        wanted = "true or false"
        return self._value(key, default, lambda v: v if isinstance(v, bool) else None, wanted)

    def number(self, key: str, default: float, *, least: float, most: float) -> float:
        def read(given: object) -> float | None:
            if isinstance(given, bool) or not isinstance(given, int | float):
                return None
            return float(given) if least <= given <= most else None

        return self._value(key, default, read, f"a number from {least:g} to {most:g}")

    def one_of(self, key: str, choices: tuple[str, ...], default: str) -> str:
        wanted = f"one of {', '.join(choices)}"
        return self._value(key, default, lambda v: str(v) if v in choices else None, wanted)

    def ids(self, key: str) -> frozenset[str]:
        """Numbers, because names change hands. One alone need not be a list."""
        given = self._raw.get(key)
        listed = given if isinstance(given, list | tuple) else [] if given is None else [given]
        found = set()
        for one in listed:
            id_ = (
                str(one).strip() if isinstance(one, int | str) and not isinstance(one, bool) else ""
            )
            if not _ID.fullmatch(id_):
                problem = "an entry is not a number" if id_ else "it is not a list of numbers"
                fix = "Write ids, not names: [12345678]. The bot tells strangers their id"
                raise self.wrong(key, problem, fix)
            found.add(id_)
        return frozenset(found)

    def section(self, key: str, keys: tuple[str, ...]) -> "_Section":
        given = self._raw.get(key) or {}
        if not isinstance(given, Mapping):
            raise self.wrong(key, "it is not a section", f"Write {key}: {{{keys[0]}: …}}")
        return _Section(given, f"{self._at}.{key}", keys)


def _token(token: str) -> str:
    if not token:
        fix = f"Get one from @BotFather and run: hermes config set {TOKEN_SECRET} -"
        raise Misconfigured(f"{_AT}.token", "there is none", fix)
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
    section: _Section, secrets: Mapping[str, str], *, used: bool
) -> WebhookSettings | None:
    """One that is not used may be incomplete, but not misspelt."""
    given = section.section("webhook", _WEBHOOK_KEYS)
    if not used:
        return None
    url = given.text("url").rstrip("/")
    if not _is_url(url, ("https", "http")):
        fix = "Write the https:// address under which Telegram reaches this machine"
        raise given.wrong("url", "it is not a URL" if url else "there is none", fix)
    secret = given.text("secret", secrets.get(WEBHOOK_SECRET, ""))
    if not _WEBHOOK_TOKEN.fullmatch(secret) or len(secret) < SECRET_CHARS_MIN:
        problem = "it is too short or has odd characters" if secret else "there is none"
        fix = f"Make up {SECRET_CHARS_MIN} to 256 letters and digits, and run: "
        fix += f"hermes config set {WEBHOOK_SECRET} -"
        raise given.wrong("secret", problem, fix)
    port = int(given.number("port", PORT, least=0, most=65_535))
    return WebhookSettings(url=url, host=given.text("host", "127.0.0.1"), port=port, secret=secret)


def _is_url(url: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and not parts.query
