"""Is this the token of a bot? By its form, and by asking the platform where that can be reached."""

import asyncio
import re
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from hermes.egress.body import body_of
from hermes.egress.faults import HttpFailed
from hermes.models import looked

API_BASE = "https://api.telegram.org"
ANSWER_S, ANSWER_BYTES_MAX = 10.0, 64 * 1024
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


def check(token: str, api_base: str, limit_s: float = ANSWER_S) -> Verdict:
    """The token is in the address that is asked, so nothing of a failure is passed on."""
    try:
        return asyncio.run(_asked(f"{api_base.rstrip('/')}/bot{token}/getMe", limit_s))
    except (HttpFailed, msgspec.DecodeError):
        return Unasked()


async def _asked(url: str, limit_s: float) -> Verdict:
    async with looked(url, limit_s) as response:
        if response.status in _REFUSED:
            return Unknown()
        body = await body_of(response, ANSWER_BYTES_MAX)
    return Known(msgspec.json.decode(body, type=_Answer).result.username)
