"""Clients that speak at once, each in its session, over keep-alive connections."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KEY = "a-key-for-load"
BODY = b'{"model":"hermes","messages":[{"role":"user","content":"Please go on with the work."}]}'


@dataclass(frozen=True)
class Load:
    turns: int
    wall_s: float
    cpu_s: float

    @property
    def cpu_turn_s(self) -> float:
        return self.cpu_s / self.turns

    @property
    def turns_s(self) -> float:
        return self.turns / self.wall_s


def cpu_of(pid: int) -> float:
    """Seconds of processor time, of the process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def memory_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096


async def load(
    port: int, pid: int, *, sessions: int, turns: int, name: str = "s", wide: int = 64
) -> Load:
    """`turns` in each session, at most `wide` at the same time."""
    names = iter([f"{name}{n}" for n in range(sessions)])
    cpu, began = cpu_of(pid), time.monotonic()
    await asyncio.gather(*(_client(port, names, turns) for _ in range(min(wide, sessions))))
    return Load(sessions * turns, time.monotonic() - began, cpu_of(pid) - cpu)


async def _client(port: int, names: Iterator[str], turns: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for name in names:
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"authorization: Bearer {KEY}\r\n"
            f"content-type: application/json\r\nx-hermes-session-id: {name}\r\n"
            f"content-length: {len(BODY)}\r\n\r\n"
        ).encode()
        for _ in range(turns):
            writer.write(head + BODY)
            answer = await reader.readuntil(b"\r\n\r\n")
            lower = answer.lower()
            if not lower.startswith(b"http/1.1 200"):
                raise RuntimeError(answer.decode())
            at = lower.index(b"content-length:")
            await reader.readexactly(int(lower[at + 15 :].split(b"\r\n", 1)[0]))
    writer.close()
