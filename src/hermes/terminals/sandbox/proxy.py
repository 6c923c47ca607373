"""The only way out of a box: a proxy that connects to the hosts which the owner allows.

It takes CONNECT and plain HTTP at a socket in HERMES_HOME/network; a bridge inside each box leads
there. It looks names up itself and connects to the very address that it has judged, so a name that
changes its address between two looks gains nothing. One process of a home has the socket; another
one takes over when it is gone, and a command that outlives its gateway finds the next one there.
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
from hermes.terminals.sandbox.requests import HEAD_BYTES_MAX, Refused, Request, grants, parsed

LOCK = "network.lock"  # beside the folder, because commands see what is in it
LINKS_MAX = 64
HEAD_S, CONNECT_S, IDLE_S, WHOLE_S = 10.0, 15.0, 300.0, 6 * 3600.0
AGAIN_S = 1.0
ADDRESSES_MAX = 4
PIECE = 65_536
CLOSE_S = 1.0
ANSWERS = {400: "Bad Request", 403: "Forbidden", 411: "Length Required", 502: "Bad Gateway"}

log = logging.getLogger("hermes.network")

Judge = Callable[[str], bool]  # may this address be connected to?
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def is_public(address: str) -> bool:
    return is_of_the_world(ip_address(address))


@asynccontextmanager
async def granted(
    home: Path, hosts: Sequence[str], judge: Judge = is_public
) -> AsyncIterator[None]:
    """While inside, commands of this home reach these hosts. Without any there is nothing."""
    if not hosts:
        yield
        return
    serving = asyncio.create_task(_served(home, Proxy(hosts, judge)))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait([serving])


async def _served(home: Path, proxy: "Proxy") -> None:
    """For good; whatever is in the way now may be gone in a second."""
    told = ""
    while True:
        try:
            with _listener(home) as listener:
                await proxy.serve(listener)
        except BlockingIOError:
            pass  # another process of this home does it
        except OSError as failed:
            if str(failed) != told:
                log.warning("commands have no network for now: %s", failed)
            told = str(failed)
        await asyncio.sleep(AGAIN_S)


class _listener:  # noqa: N801 - used as a with statement, like a function
    """The socket and the lock on it. Raises BlockingIOError when somebody else has it."""

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
        """By way of the folder's number: a socket's own name may be only 107 bytes long."""
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


class Proxy:
    """Bounded in connections, in the time of each, and in what it remembers of them."""

    def __init__(self, hosts: Sequence[str], judge: Judge = is_public) -> None:
        self._hosts = tuple(hosts)
        self._judge = judge
        self._links: set[asyncio.Task[None]] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Until cancelled; then whatever is open is cut."""
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
            await _say(writer, 400, "That is no request.")
            return
        except Refused as refused:
            log.warning("a command was kept from the network: %s", refused)
            await _say(writer, refused.status, str(refused))
            return
        tally = [0, 0]
        try:
            await _joined(request, here, there, tally)
        finally:
            await _closed(there[1])
            log.info("a command talked to %s: %d bytes out, %d in", request.place, *tally)

    async def _connected(self, request: Request) -> Streams:
        """Raises Refused."""
        if not grants(self._hosts, request.host, request.port):
            raise Refused(403, f"{request.place} is not among terminal.allow_hosts")
        async with _in_time(request.place):
            found = await _looked_up(request.host, request.port)
        if not found or not all(self._judge(address) for address in found):
            raise Refused(403, f"{request.place} leads to an address that is not public")
        for address in found[:ADDRESSES_MAX]:
            with suppress(OSError):
                async with _in_time(request.place):
                    return await asyncio.open_connection(address, request.port)
        raise Refused(502, f"{request.place} cannot be reached")


@asynccontextmanager
async def _in_time(place: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(CONNECT_S):
            yield
    except TimeoutError as late:
        raise Refused(502, f"{place} does not answer") from late


async def _looked_up(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as unknown:
        raise Refused(502, f"{host} has no address") from unknown
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def _joined(request: Request, here: Streams, there: Streams, tally: list[int]) -> None:
    """Bytes both ways, until both are done, or neither says anything for a while."""
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
    """The first that fails ends the other too."""
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
