"""The egress proxy: the only way out of a box, to hosts that the owner allows.

It accepts CONNECT and plain HTTP at a socket in HERMES_HOME/network; a bridge inside each box leads
there. It resolves names itself and connects to the address that it checked, which stops DNS
rebinding and SSRF. One process of a home holds the socket; another takes over when it ends, and a
command that outlives its gateway reaches the next one.
"""

import asyncio
import fcntl
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

from hermes.egress.addresses import is_of_the_world
from hermes.terminals.sandbox.bridge import FOLDER, SOCKET
from hermes.terminals.sandbox.requests import (
    HEAD_BYTES_MAX,
    ProxyRequest,
    RequestRefused,
    grants,
    parsed,
)

LOCK = "network.lock"  # next to the folder, because commands see the folder's content
LINKS_MAX = 64
HEAD_S, CONNECT_S, IDLE_S, WHOLE_S = 10.0, 15.0, 300.0, 6 * 3600.0
AGAIN_S = 1.0
ADDRESSES_MAX = 4
PIECE = 65_536
CLOSE_S = 1.0
ANSWERS = {400: "Bad Request", 403: "Forbidden", 411: "Length Required", 502: "Bad Gateway"}

log = logging.getLogger("hermes.network")

Judge = Callable[[str], bool]  # whether this address may be connected to
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def is_public(address: str) -> bool:
    return is_of_the_world(ip_address(address))


@asynccontextmanager
async def granted(
    home: Path, hosts: Sequence[str], judge: Judge = is_public
) -> AsyncIterator[None]:
    """Serve the proxy while inside the context, for these hosts. Without hosts, do nothing."""
    if not hosts:
        yield
        return
    serving = asyncio.create_task(_served(home, EgressProxy(hosts, judge)))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait([serving])


async def _served(home: Path, proxy: "EgressProxy") -> None:
    """Serve until cancelled; after a failure try again a second later."""
    told = ""
    while True:
        try:
            with _listener(home) as listener:
                await proxy.serve(listener)
        except BlockingIOError:
            pass  # another process of this home serves it
        except OSError as failed:
            if str(failed) != told:
                log.warning("commands have no network at the moment: %s", failed)
            told = str(failed)
        await asyncio.sleep(AGAIN_S)


class _listener:  # noqa: N801 - used as a with statement, like a function
    """Hold the socket and its lock. Raise BlockingIOError if another process has the lock."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._held: list[int] = []

    def __enter__(self) -> socket.socket:
        held = os.open(self._home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._held.append(held)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self._bound()
        except OSError:
            self.__exit__()
            raise

    def __exit__(self, *_raised: object) -> None:
        while self._held:
            os.close(self._held.pop())

    def _bound(self) -> socket.socket:
        """Bind through the folder's descriptor: the path of a Unix socket is limited to 107
        bytes."""
        folder = self._home / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        fresh = folder / f".{SOCKET}"
        fresh.unlink(missing_ok=True)
        inside = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(f"/proc/self/fd/{inside}/{fresh.name}")
            listener.listen(LINKS_MAX)
            fresh.chmod(0o600)
            fresh.replace(folder / SOCKET)
        except OSError:
            listener.close()
            raise
        finally:
            os.close(inside)
        return listener


class EgressProxy:
    """A proxy with limits on connections, on the time of each, and on what it remembers of them."""

    def __init__(self, hosts: Sequence[str], judge: Judge = is_public) -> None:
        self._hosts = tuple(hosts)
        self._judge = judge
        self._links: set[asyncio.Task[None]] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled; then close every open connection."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        try:
            while True:
                if len(self._links) >= LINKS_MAX:
                    await asyncio.wait(self._links, return_when=asyncio.FIRST_COMPLETED)
                link, _ = await loop.sock_accept(listener)
                visit = asyncio.create_task(self._visit(link))
                self._links.add(visit)
                visit.add_done_callback(self._links.discard)
        finally:
            listener.close()
            for visit in self._links:
                visit.cancel()
            await asyncio.gather(*self._links, return_exceptions=True)

    async def _visit(self, link: socket.socket) -> None:
        here = await asyncio.open_unix_connection(sock=link, limit=HEAD_BYTES_MAX)
        try:
            async with asyncio.timeout(WHOLE_S):
                await self._answer(here)
        except (OSError, TimeoutError):
            log.info("a connection of a command broke off")
        finally:
            await _closed(here[1])

    async def _answer(self, here: Streams) -> None:
        reader, writer = here
        try:
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            request = parsed(head)
            there = await self._connected(request)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            await _say(writer, 400, "This is not an HTTP request.")
            return
        except RequestRefused as refused:
            log.warning("a command's network request was refused: %s", refused)
            await _say(writer, refused.status, str(refused))
            return
        tally = [0, 0]
        try:
            await _joined(request, here, there, tally)
        finally:
            await _closed(there[1])
            log.info("a command talked to %s: %d bytes out, %d in", request.place, *tally)

    async def _connected(self, request: ProxyRequest) -> Streams:
        """Connect to the requested host. Raise RequestRefused."""
        if not grants(self._hosts, request.host, request.port):
            raise RequestRefused(403, f"{request.place} is not among terminal.allow_hosts")
        async with _in_time(request.place):
            found = await _looked_up(request.host, request.port)
        if not found or not all(self._judge(address) for address in found):
            raise RequestRefused(403, f"{request.place} leads to an address that is not public")
        for address in found[:ADDRESSES_MAX]:
            with suppress(OSError):
                async with _in_time(request.place):
                    return await asyncio.open_connection(address, request.port)
        raise RequestRefused(502, f"{request.place} cannot be reached")


@asynccontextmanager
async def _in_time(place: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(CONNECT_S):
            yield
    except TimeoutError as late:
        raise RequestRefused(502, f"{place} does not answer") from late


async def _looked_up(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as unknown:
        raise RequestRefused(502, f"{host} has no address") from unknown
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def _joined(request: ProxyRequest, here: Streams, there: Streams, tally: list[int]) -> None:
    """Copy bytes both ways until both sides are done, or both are idle for too long."""
    if request.is_tunnel:
        here[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    there[1].write(request.head)
    tally[0] += len(request.head)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(IDLE_S) as limit:

        async def pour(which: int, source: Streams, target: Streams) -> None:
            reader, writer = source[0], target[1]
            left = request.body if which == 0 else None
            while left is None or left > 0:
                piece = await reader.read(PIECE if left is None else min(left, PIECE))
                if not piece:
                    break
                left = None if left is None else left - len(piece)
                limit.reschedule(loop.time() + IDLE_S)
                tally[which] += len(piece)
                writer.write(piece)
                await writer.drain()
            if which == 1 or request.is_tunnel:
                writer.write_eof()

        await _both(pour(0, here, there), pour(1, there, here))


async def _both(one: Awaitable[None], other: Awaitable[None]) -> None:
    """Run both; the first that fails cancels the other."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _say(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    body = f"hermes: {text}\n".encode()
    head = (
        f"HTTP/1.1 {status} {ANSWERS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    with suppress(OSError):
        await writer.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await writer.wait_closed()
