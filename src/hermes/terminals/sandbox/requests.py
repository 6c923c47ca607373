"""Parse a command's proxy requests strictly, and match hosts against the allow-list. Pure."""

import re

from msgspec import Struct

HEAD_BYTES_MAX = 32_768
PORTS = (80, 443)  # ports of a host that is listed without one
NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]{2,45}\]")
LINE = re.compile(rb"([A-Z]{1,16}) ([\x21-\x7e]{1,16000}) HTTP/1\.[01]")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
DIGITS = re.compile(rb"[0-9]{1,18}")
# Hop-by-hop headers; the proxy sends its own.
OWN = (b"connection", b"keep-alive", b"host", b"te", b"trailer", b"upgrade")


class RequestRefused(Exception):
    """Why a request is refused, in the words that the command gets."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ProxyRequest(Struct, frozen=True, kw_only=True):
    """A request: the target, the bytes to send first, and how much the body may have."""

    host: str
    port: int
    head: bytes = b""
    body: int | None = None  # None: unlimited, as in a tunnel

    @property
    def is_tunnel(self) -> bool:
        return self.body is None

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"


def grants(hosts: tuple[str, ...], host: str, port: int) -> bool:
    """Return True if the list allows this host and port. `*.example.com` means its subdomains only.
    A host without a port allows 80 and 443."""
    for listed in hosts:
        name, _, number = listed.lower().partition(":")
        if port not in ((int(number),) if number else PORTS):
            continue
        below = name.removeprefix("*")
        if host == name or (below != name and host.endswith(below) and host != below):
            return True
    return False


def parsed(head: bytes) -> ProxyRequest:
    """Parse a request's head. Raise RequestRefused."""
    first, *lines = head[:-4].split(b"\r\n")
    asked = LINE.fullmatch(first)
    if asked is None:
        raise RequestRefused(400, "this is not a proxy request")
    method, target = asked[1], asked[2]
    if method == b"CONNECT":
        host, port = _authority(target.decode("ascii"), None)
        return ProxyRequest(host=host, port=port)
    fields = [_field(line) for line in lines]
    if not target.lower().startswith(b"http://"):
        raise RequestRefused(400, "only http:// and CONNECT are supported")
    authority, _, path = target[len("http://") :].partition(b"/")
    host, port = _authority(authority.decode("ascii"), 80)
    kept = [line for name, line in fields if name not in OWN and not name.startswith(b"proxy-")]
    named = authority if b":" in authority else host.encode()
    sent = [method + b" /" + path + b" HTTP/1.1", b"Host: " + named, *kept, b"Connection: close"]
    return ProxyRequest(
        host=host, port=port, head=b"\r\n".join([*sent, b"", b""]), body=_length(fields)
    )


def _authority(text: str, port: int | None) -> tuple[str, int]:
    name, colon, number = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        name, number = text, "" if port is None else str(port)
    if NAME.fullmatch(name) is None or not number.isascii() or not number.isdigit():
        raise RequestRefused(400, "the host of that request cannot be read")
    if not 0 < int(number[:6]) < 65_536:
        raise RequestRefused(400, "the port of that request cannot be")
    return name.strip("[]").rstrip(".").lower(), int(number)


def _field(line: bytes) -> tuple[bytes, bytes]:
    found = FIELD.fullmatch(line)
    if found is None:
        raise RequestRefused(400, "a header of that request cannot be read")
    return found[1].lower(), line


def _length(fields: list[tuple[bytes, bytes]]) -> int:
    """Return the exact length of the body, which prevents request smuggling."""
    if any(name == b"transfer-encoding" for name, _ in fields):
        raise RequestRefused(411, "Content-Length is required")
    told = {line.partition(b":")[2].strip() for name, line in fields if name == b"content-length"}
    if not told:
        return 0
    length = told.pop()
    if told or DIGITS.fullmatch(length) is None:
        raise RequestRefused(400, "the length of that request cannot be read")
    return int(length)
