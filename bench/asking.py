"""Clients over keep-alive HTTP: so many sessions at once, for so long, every answer checked."""

import asyncio
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from bench.model import ANSWER
from bench.running import Gateway

PLAIN = "Please go on with the work."
NUMBER = "0123456789"  # another one in each turn
EFFECTS = "effects"
TURNS_MAX = 20  # in one session; then another one is begun
TURN_S_MAX = 120.0


@dataclass
class Load:
    wall_s: float = 0.0
    cpu_s: float = 0.0
    latencies_s: list[float] = field(default_factory=list)

    @property
    def turns(self) -> int:
        return len(self.latencies_s)

    @property
    def turns_s(self) -> float:
        return self.turns / self.wall_s


def tool_text(gateway: Gateway) -> str:
    """A message that makes the model call the shell once: a line is added to a file."""
    name, argument = gateway.peer.tool
    command = f"echo {NUMBER} >> {gateway.ground.workspace / EFFECTS}"
    return f"{PLAIN} [[call {name} {json.dumps({argument: command})}]]"


def effects(gateway: Gateway) -> int:
    """How many such lines there are."""
    try:
        return (gateway.ground.workspace / EFFECTS).read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


async def load(gateway: Gateway, name: str, *, sessions: int, seconds: float, text: str) -> Load:
    """Each session asks again as soon as it is answered. The first turn of each is not counted."""
    done = Load()
    lines = [_Line(gateway, f"{name}-{n}", text) for n in range(sessions)]
    try:
        await asyncio.gather(*(line.turn() for line in lines))
        began, cpu = time.monotonic(), gateway.cpu_s()
        until = began + seconds
        await asyncio.gather(*(line.turns(until, done) for line in lines))
        done.wall_s, done.cpu_s = time.monotonic() - began, gateway.cpu_s() - cpu
    finally:
        for line in lines:
            line.close()
    return done


class Long:
    """One session, one turn behind the other: wall and processor time of each is in `spent`."""

    def __init__(self, gateway: Gateway, name: str, turns_max: int) -> None:
        self._gateway = gateway
        self._line = _Line(gateway, name, PLAIN, turns_max=turns_max)
        self.spent: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        return sum(wall for wall, _ in self.spent)

    async def turns(
        self, count: int, seconds_max: float = math.inf
    ) -> Sequence[tuple[float, float]]:
        """So many more; fewer when all of them together took too long."""
        before = len(self.spent)
        for _ in range(count):
            if self.seconds > seconds_max:
                break
            began, cpu = time.monotonic(), self._gateway.cpu_s()
            await self._line.turn()
            self.spent.append((time.monotonic() - began, self._gateway.cpu_s() - cpu))
        return self.spent[before:]

    def close(self) -> None:
        self._line.close()


async def visits(
    gateway: Gateway, name: str, *, sessions: int, wide: int, seconds: float, wanted: str = ANSWER
) -> int:
    """One turn in each of so many sessions, as far as the time goes; how many there were."""
    names, done, until = iter(range(sessions)), count(), time.monotonic() + seconds

    async def client() -> None:
        for number in names:
            line = _Line(gateway, f"{name}{number}", PLAIN, wanted=wanted)
            try:
                await line.turn()
            finally:
                line.close()
            next(done)
            if time.monotonic() > until:
                return

    await asyncio.gather(*(client() for _ in range(wide)))
    return next(done)


_NUMBERS = count(1)


class _Line:
    """One client's connection; it is opened again when the other side has closed it."""

    def __init__(
        self,
        gateway: Gateway,
        name: str,
        text: str,
        *,
        turns_max: int = TURNS_MAX,
        wanted: str = ANSWER,
    ) -> None:
        self._wanted = wanted.encode()
        self._gateway = gateway
        self._text = text
        self._names = _sessions(name, turns_max)
        self._writer: asyncio.StreamWriter | None = None

    async def turns(self, until: float, done: Load) -> None:
        while time.monotonic() < until:
            began = time.monotonic()
            await self.turn()
            done.latencies_s.append(time.monotonic() - began)

    async def turn(self) -> None:
        headers, body = self._gateway.peer.request(
            next(self._names), self._text.replace(NUMBER, f"{next(_NUMBERS):010}")
        )
        content = json.dumps(body).encode()
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = (
            "POST /v1/chat/completions HTTP/1.1",
            "host: 127.0.0.1",
            "content-type: application/json",
            f"content-length: {len(content)}",
            *lines,
        )
        request = "\r\n".join(head).encode() + b"\r\n\r\n" + content
        async with asyncio.timeout(TURN_S_MAX):
            try:
                answer = await self._exchange(request)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()
                answer = await self._exchange(request)
        if self._wanted not in answer:
            raise RuntimeError(f"{self._gateway.peer.label} did not answer: {answer[:400]!r}")

    async def _exchange(self, request: bytes) -> bytes:
        if self._writer is None:
            port = self._gateway.ground.port
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if b"transfer-encoding: chunked" in head:
            body = await self._chunks()
        else:
            at = head.index(b"content-length:")
            body = await self._reader.readexactly(int(head[at + 15 :].split(b"\r\n", 1)[0]))
        if b"connection: close" in head:
            self.close()
        return body

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return body

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _sessions(name: str, turns_max: int) -> Iterator[str]:
    """The same name so many times, then the next one: a history does not grow without end."""
    for number in count():
        for _ in range(turns_max):
            yield f"{name}-{number}"
