"""What an address on the web leads to, asked by the one client for others' URLs.

The owner gave the address; where it redirects to is somebody else's word. git has a client of its
own, so the way is walked before it: git is then told that one address and to follow nobody.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from hermes.core.errors import Rejected
from hermes.egress.client import Fetcher, Limits, Settled
from hermes.egress.faults import HttpFailed
from hermes.egress.origin import BadURL, origin
from hermes.egress.rules import Rules

ARCHIVE_BYTES_MAX: Final = 20_000_000
DOWNLOAD_S: Final = 120.0
DOWNLOADS: Final = Limits(body_bytes=ARCHIVE_BYTES_MAX, total_s=DOWNLOAD_S)
_SERVICE: Final = "/info/refs?service=git-upload-pack"
_USER: Final = re.compile(r"(?<=://)[^/@]*@")


def without_password(address: str) -> str:
    return _USER.sub("", address)


class Remote:
    """Called by a person's command, in a thread without an event loop."""

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        self._fetcher = fetcher or Fetcher(Rules(), limits=DOWNLOADS)

    def archive(self, url: str) -> bytes:
        """Raises Rejected."""
        try:
            page = asyncio.run(self._fetcher.fetch(url))
        except HttpFailed as failed:
            raise Rejected(f"it could not be fetched: {failed}") from failed
        if page.status != 200:
            raise Rejected(f"it could not be fetched: the server answered HTTP {page.status}")
        return page.body

    def repository(self, address: str) -> tuple[str, Sequence[str]]:
        """The address for git, and the settings that keep it there. Raises Rejected."""
        plain = without_password(address)
        try:
            settled = asyncio.run(self._fetcher.settle(plain.rstrip("/") + _SERVICE))
            same = settled.server == origin(plain)
        except (HttpFailed, BadURL) as failed:
            raise Rejected(f"it could not be fetched: {failed}") from failed
        if not settled.url.endswith(_SERVICE):
            raise Rejected("the address redirects to something that is no git repository")
        where = settled.url.removesuffix(_SERVICE)
        user = _USER.search(address)
        if user is not None and same:  # a password belongs to the server that it was given for
            where = where.replace("://", f"://{user[0]}", 1)
        return where, (*_pinned(settled), "http.followRedirects=false", "http.proxy=")


def _pinned(settled: Settled) -> Sequence[str]:
    host, address = settled.server.host, str(settled.address)
    if host == address:
        return ()
    number = f"[{address}]" if ":" in address else address
    return (f"http.curloptResolve={host}:{settled.server.port}:{number}",)
