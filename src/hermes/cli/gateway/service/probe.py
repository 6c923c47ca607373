"""Ask the gateway of a home whether it is ready, over the same socket as chats."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.cli.context import CliContext
from hermes.cli.gateway.service.service import ServiceContext
from hermes.core.errors import ChannelFailed
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")

ANSWER_S = 2.0


def standing(context: CliContext) -> ServiceContext:
    """Return the context of the real commands, whose gateway is ready when it says so."""
    return ServiceContext(context=context, ready=lambda: serves(context.home))


def serves(home: Path) -> bool:
    return asyncio.run(_serves(home))


async def _serves(home: Path) -> bool:
    try:
        async with asyncio.timeout(ANSWER_S):
            attached = await app.beside(home)
            if attached is None:
                return False
            try:
                status = await attached.status()
            finally:
                await attached.close()
    except (ChannelFailed, TimeoutError, OSError):
        return False
    return status.state == "ready"
