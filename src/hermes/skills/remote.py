"""Resolve skill URLs with the SSRF-safe client before anything is downloaded.

The owner chose the address, but a redirect is untrusted. git has its own HTTP client, so redirects
are followed here first; then git gets the final URL and its checked address (no DNS rebinding) and
may follow none.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from hermes.core.errors import Rejected
from hermes.egress.client import Fetcher, FetchLimits, ResolvedUrl
from hermes.egress.rules import EgressRules
from hermes.wire.faults import HttpFailed
from hermes.wire.origin import BadURL, origin

ARCHIVE_BYTES_MAX: Final = 20_000_000
DOWNLOAD_S: Final = 120.0
DOWNLOADS: Final = FetchLimits(body_bytes=ARCHIVE_BYTES_MAX, total_s=DOWNLOAD_S)
_SERVICE: Final = "/info/refs?service=git-upload-pack"
_USER: Final = re.compile(r"(?<=://)[^/@]*@")


def without_password(address: str) -> str:
    return _USER.sub("", address)


class Remote:
    """Called by a person's command, in a thread without an event loop."""

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        self._fetcher = fetcher or Fetcher(EgressRules(), limits=DOWNLOADS)

    def archive(self, url: str) -> bytes:
        """Download an archive. Raise Rejected if that fails."""
        try:
            page = asyncio.run(self._fetcher.fetch(url))
        except HttpFailed as failed:
            raise Rejected(f"it could not be fetched: {failed}") from failed
        if page.status != 200:
            raise Rejected(f"it could not be fetched: the server answered HTTP {page.status}")
        return page.body

    def repository(self, address: str) -> tuple[str, Sequence[str]]:
        """Return the final address for git, and the git settings that pin it. Raise Rejected."""
        plain = without_password(address)
        try:
            settled = asyncio.run(self._fetcher.settle(plain.rstrip("/") + _SERVICE))
            same = settled.server == origin(plain)
        except (HttpFailed, BadURL) as failed:
            raise Rejected(f"it could not be fetched: {failed}") from failed
        if not settled.url.endswith(_SERVICE):
            raise Rejected("the address redirects to something that is not a git repository")
        where = settled.url.removesuffix(_SERVICE)
        user = _USER.search(address)
        if user is not None and same:  # send a password only to the server that it was given for
            where = where.replace("://", f"://{user[0]}", 1)
        return where, (*_pinned(settled), "http.followRedirects=false", "http.proxy=")


def _pinned(settled: ResolvedUrl) -> Sequence[str]:
    host, address = settled.server.host, str(settled.address)
    if host == address:
        return ()
    number = f"[{address}]" if ":" in address else address
    return (f"http.curloptResolve={host}:{settled.server.port}:{number}",)
