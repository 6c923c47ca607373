"""Providers of both protocols, pointed at a server of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Glimpse
from hermes.providers.build import build
from hermes.providers.chain import ProviderChain
from hermes.providers.settings import ProviderSettings, ProviderTimeouts, RetryLimits
from tests.unit.providers.recordings import HELLO, KEY
from tests.unit.providers.servers import Play, Server

ONCE = RetryLimits(attempts_max=1)
PROTOCOLS = ("custom", "custom-anthropic")


def settings(server: Server, provider: str = "custom", **more: object) -> ProviderSettings:
    given = {"api_key": KEY, "patience": ONCE, "name": "m", **more}
    return ProviderSettings(provider=provider, base_url=server.url, **given)


@asynccontextmanager
async def asked(
    *plays: Play, provider: str = "custom", timeouts: ProviderTimeouts | None = None, **more: object
) -> AsyncIterator[tuple[ProviderChain, Server]]:
    """A provider and the server behind it."""
    async with Server(plays) as server:
        waits = timeouts or ProviderTimeouts()
        chain = build(settings(server, provider, timeouts=waits, **more), {})
        try:
            yield chain, server
        finally:
            await chain.aclose()


async def ask(
    *plays: Play, provider: str = "custom", request: ModelRequest = HELLO, **more: object
) -> tuple[Answer, list[Glimpse]]:
    """One question, what came of it and what was to be seen meanwhile."""
    seen: list[Glimpse] = []
    async with asked(*plays, provider=provider, **more) as (chain, _):
        return await chain.ask(request, seen.append), seen
