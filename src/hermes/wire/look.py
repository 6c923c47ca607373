"""Send one GET without a key to a server that the owner named."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from hermes.wire.faults import TooMuch
from hermes.wire.http import Client
from hermes.wire.response import Response
from hermes.wire.route import proxies_to


@contextlib.asynccontextmanager
async def looked(url: str, limit_s: float) -> AsyncIterator[Response]:
    """Send a GET and yield the response; the limit covers all of it. A redirect is returned, not
    followed.

    Raise HttpFailed.
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
