"""Ask Telegram whose token this is, without its library, which may not be installed yet."""

from dataclasses import dataclass

import msgspec
from msgspec import Struct

from hermes.wire.body import body_of
from hermes.wire.faults import HttpFailed
from hermes.wire.look import looked

ANSWER_S, ANSWER_BYTES_MAX = 10.0, 64 * 1024
_REFUSED = (401, 403, 404)


@dataclass(frozen=True)
class BotIdentity:
    name: str


@dataclass(frozen=True)
class BotRejected:
    """The platform refused the token."""


@dataclass(frozen=True)
class BotUnreachable:
    """The platform did not answer, or its answer says nothing about the token."""


Verdict = BotIdentity | BotRejected | BotUnreachable


class _Bot(Struct):
    username: str


class _Answer(Struct):
    result: _Bot


async def check(token: str, api_base: str, limit_s: float = ANSWER_S) -> Verdict:
    """Ask who the token belongs to. The token is part of the URL, so no detail of a failure is
    passed on."""
    try:
        return await _ask(f"{api_base.rstrip('/')}/bot{token}/getMe", limit_s)
    except (HttpFailed, msgspec.DecodeError):
        return BotUnreachable()


async def _ask(url: str, limit_s: float) -> Verdict:
    async with looked(url, limit_s) as response:
        if response.status in _REFUSED:
            return BotRejected()
        body = await body_of(response, ANSWER_BYTES_MAX)
    return BotIdentity(msgspec.json.decode(body, type=_Answer).result.username)
