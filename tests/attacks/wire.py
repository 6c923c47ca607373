"""Requests byte for byte, as no polite client would send them."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from tests.process.gateway import KEY

WAIT_S = 60.0


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json()["error"]["code"])


def request(
    method: str, target: str, *, host: str | None, body: bytes = b"", **headers: str
) -> bytes:
    """Build a request. `authorization=""` omits the key; an underscore in a name is a hyphen."""
    given = {"authorization": f"Bearer {KEY}", "connection": "close", **headers}
    lines = [f"{method} {target} HTTP/1.1", *([] if host is None else [f"Host: {host}"])]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in given.items() if value]
    if body:
        lines.append(f"content-length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


async def sent(port: int, raw: bytes) -> Got:
    """Send the bytes, and read until the other side closes. Status 0: it closed without an
    answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        writer.write(raw)
        async with asyncio.timeout(WAIT_S):
            while piece := await reader.read(65_536):
                answer += piece
    except ConnectionResetError:  # it closed before it read everything
        pass
    finally:
        writer.close()
    return parsed(answer)


async def asked(port: int, method: str = "GET", target: str = "/v1/models", **more: Any) -> Got:
    return await sent(port, request(method, target, **{"host": f"127.0.0.1:{port}", **more}))


def parsed(raw: bytes) -> Got:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Got(int(first.split(" ")[1]) if first else 0, headers, body)
