"""An HTTP response, as a value and as bytes. Pure."""

import time
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

Lines = Iterable[tuple[bytes, bytes]]
BODILESS: Final = frozenset({204, 304})
TEXT: Final = "text/plain; charset=utf-8"
_WORDS: Final = {
    200: b"OK",
    201: b"Created",
    202: b"Accepted",
    204: b"No Content",
    304: b"Not Modified",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    409: b"Conflict",
    413: b"Request Entity Too Large",
    421: b"Misdirected Request",
    422: b"Unprocessable Entity",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
}
_TOKEN: Final = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CONTROLS: Final = bytes({*range(32), 127} - {9})
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"


class HttpResponse(Struct, frozen=True):
    """A complete response. Its length is added automatically; the header `connection: close` closes
    the connection."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    type: str = ""

    def lines(self) -> list[tuple[bytes, bytes]]:
        """Return the header lines. Raise ValueError for an invalid header."""
        told = lines_of(self.headers)
        if self.status not in BODILESS:
            told.append((b"content-length", b"%d" % len(self.body)))
        if self.type:
            told.append((b"content-type", self.type.encode("latin-1")))
        return told


def in_words(status: int, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return a response whose body is the status in words."""
    return HttpResponse(_WORDS.get(status, b""), status, headers or {}, TEXT)


def refusal(status: int) -> HttpResponse:
    """Return the response to malformed input. The parser's own message is kept out: it would not
    help the client."""
    words = _WORDS.get(status, b"").decode("ascii")
    fault = {"message": f"{words}.", "type": "invalid_request_error", "code": None}
    body = msgspec.json.encode({"error": fault})
    return HttpResponse(body, status, {"connection": "close"}, "application/json")


def lines_of(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Encode headers. Raise ValueError for a line break in one (header injection)."""
    told = []
    for key, text in headers.items():
        name, value = key.lower().encode("latin-1"), text.encode("latin-1")
        if not name or name.translate(None, _TOKEN):
            raise ValueError(f"no name of a header: {key!r}")
        if len(value.translate(None, _CONTROLS)) != len(value):
            raise ValueError(f"no value of a header: {text!r}")
        told.append((name, value))
    return told


def head_bytes(status: int, lines: Lines) -> bytes:
    parts = [b"HTTP/1.1 %d %b\r\n" % (status, _WORDS.get(status, b""))]
    parts += [b"%b: %b\r\n" % line for line in lines]
    parts.append(b"\r\n")
    return b"".join(parts)


def closes(lines: Lines) -> bool:
    """Return True if the headers close the connection after this response."""
    return any(name == b"connection" and b"close" in value.lower() for name, value in lines)


def http_date(second: int) -> bytes:
    """Format a time as HTTP does, independent of the locale."""
    at = time.gmtime(second)
    month = _MONTHS[at.tm_mon * 3 - 3 : at.tm_mon * 3]
    day = f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {month} {at.tm_year:04}"
    return f"{day} {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT".encode("ascii")
