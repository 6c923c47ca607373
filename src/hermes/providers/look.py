"""One look at a server that the owner named: as models are asked, but without a key."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from hermes.egress.faults import TooMuch
from hermes.egress.response import Response
from hermes.providers.http import Client
from hermes.providers.wire import proxies_to


@contextlib.asynccontextmanager
async def looked(url: str, limit_s: float) -> AsyncIterator[Response]:
    """What a GET is answered; the limit is for all of it. A redirect is an answer as any other.

    Raises HttpFailed.
    """
    client = Client(
        url,
        {"user-agent": "hermes"},
        proxies=proxies_to(url),
        connect_s=limit_s,
        write_s=limit_s,
    )
    try:
        async with asyncio.timeout(limit_s) as limit, client.exchange("GET", "") as response:
            yield response
    except TimeoutError as late:
        if not limit.expired():
            raise
        raise TooMuch(f"it took longer than {limit_s:g} s") from late
    finally:
        client.close()
        await asyncio.sleep(0)  # the socket closes in the loop's next round
