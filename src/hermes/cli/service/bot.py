"""Is this the token of a bot? By its form, and by asking the platform where that can be reached."""

import re
from dataclasses import dataclass

import httpx2
import msgspec
from msgspec import Struct

API_BASE = "https://api.telegram.org"
ANSWER_S = 10.0
TOKEN = re.compile(r"[0-9]{5,16}:[A-Za-z0-9_-]{30,64}")
_REFUSED = (401, 403, 404)


@dataclass(frozen=True)
class Known:
    name: str


@dataclass(frozen=True)
class Unknown:
    """The platform was asked and says no."""


@dataclass(frozen=True)
class Unasked:
    """Nobody answered, or not in a way that says anything about the token."""


Verdict = Known | Unknown | Unasked


class _Bot(Struct):
    username: str


class _Answer(Struct):
    result: _Bot


def has_form(token: str) -> bool:
    return TOKEN.fullmatch(token) is not None


def check(token: str, api_base: str) -> Verdict:
    """The token is in the address that is asked, so nothing of a failure is passed on."""
    try:
        answer = httpx2.get(f"{api_base.rstrip('/')}/bot{token}/getMe", timeout=ANSWER_S)
        if answer.status_code in _REFUSED:
            return Unknown()
        return Known(msgspec.json.decode(answer.content, type=_Answer).result.username)
    except (httpx2.HTTPError, httpx2.InvalidURL, msgspec.DecodeError, UnicodeError):
        return Unasked()
