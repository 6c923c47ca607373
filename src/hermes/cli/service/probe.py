"""Does the gateway of a home serve already? It is asked itself, by the way that chats take."""

import asyncio
from pathlib import Path

from hermes.app import beside
from hermes.cli.place import Place
from hermes.cli.service.service import Ground
from hermes.core.errors import ChannelFailed

ANSWER_S = 2.0


def standing(place: Place) -> Ground:
    """The ground of the real commands: their gateway is ready when it says so."""
    return Ground(place=place, ready=lambda: serves(place.home))


def serves(home: Path) -> bool:
    return asyncio.run(_serves(home))


async def _serves(home: Path) -> bool:
    try:
        async with asyncio.timeout(ANSWER_S):
            attached = await beside(home)
            if attached is None:
                return False
            try:
                status = await attached.status()
            finally:
                await attached.close()
    except (ChannelFailed, TimeoutError, OSError):
        return False
    return status.state == "ready"
