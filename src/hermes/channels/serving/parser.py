"""Bytes in, requests out: httptools' parser (llhttp) in its strict mode, with limits on the head.

Nothing of HTTP is read by hand here.
"""

from typing import Final, Protocol

import httptools

from hermes.channels.serving.head import Ends, Fields, Head, authority_of, path_of
from hermes.channels.serving.request import Request

HEAD_BYTES_MAX: Final = 32_768
HEADERS_MAX: Final = 100
BAD, TOO_LONG = 400, 431


class Malformed(Exception):
    """What came is no request of HTTP, or its head is too long; `status` says which."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Listener(Protocol):
    def asked(self, head: Head) -> Request:
        """A head is complete; its body goes into that request."""

    def ended(self) -> None:
        """So does its end."""


class Parser:
    """Reads the requests of one connection. `over`: a last one was read; nothing behind it is."""

    def __init__(self, listener: Listener, ends: Ends) -> None:
        self.over = False
        self.raw = 0  # bytes since the end of a head, or since a piece of a body
        self._listener, self._ends = listener, ends
        self._http = httptools.HttpRequestParser(self)
        self._request: Request | None = None
        self._begun = False
        self._url = b""
        self._headers: Fields = []
        self._size = self._count = 0  # of the fields: bytes, and how many
        self._last = self._expects = self._upgrades = False

    @property
    def is_amid_head(self) -> bool:
        return self._begun or self.raw > 0

    def end(self) -> None:
        """Nothing more is read. The reader in C and we hold each other."""
        self.over, self._request = True, None
        del self._http, self._listener

    def feed(self, piece: bytes | memoryview) -> None:
        """Raises Malformed."""
        self.raw += len(piece)
        while piece and not self.over:
            piece = self._fed(piece)
        if self.raw > HEAD_BYTES_MAX:
            raise Malformed(TOO_LONG)

    def _fed(self, piece: bytes | memoryview) -> bytes | memoryview:
        """Returns what has not been read yet."""
        try:
            self._http.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on()
            return piece[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            if not self.over:
                raise Malformed(TOO_LONG if self._is_too_long() else BAD) from error
        return b""

    def _read_on(self) -> None:
        """An upgrade is never made. The parser has left HTTP, without the body: a new one gets the
        same head, without that wish, or a body would be read as the next request."""
        if self._http.get_method() == b"CONNECT":
            raise Malformed(BAD)
        version = self._http.get_http_version().encode()
        lines = [self._http.get_method() + b" " + self._url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self._headers if name != b"upgrade"]
        self._upgrades = False
        self._http = httptools.HttpRequestParser(self)
        self._fed(b"\r\n".join(lines) + b"\r\n\r\n")

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", []
        self._size = self._count = 0
        self._begun, self._expects = True, False

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._limit(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """What comes behind a body counts, too, and is not looked at."""
        self._count += 1
        self._limit(len(name) + len(value))
        name = name.lower()
        self._headers.append((name, value))
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects = True

    def on_headers_complete(self) -> None:
        http = self._http
        self._upgrades = http.should_upgrade()
        if self._upgrades or self.over:
            return
        self._begun, self.raw = False, 0
        version = http.get_http_version()
        self._last = version != "1.1" or not http.should_keep_alive()
        path, query = path_of(self._url)
        headers, self._headers = self._headers, []
        if (authority := authority_of(self._url)) is not None:
            headers.append((b"host", authority))
        head = Head(
            http.get_method().decode("ascii"),
            path,
            headers,
            self._ends,
            query=query,
            chunks=version == "1.1",
            last=self._last,
            expects=self._expects,
        )
        self._request = self._listener.asked(head)

    def on_chunk_header(self) -> None:
        self.raw = 0

    def on_body(self, piece: bytes) -> None:
        self.raw = 0
        if self._request is not None:
            self._request.take(piece)

    def on_message_complete(self) -> None:
        if self._request is not None:
            self.raw, self.over = 0, self._last
            request, self._request = self._request, None
            request.complete()
            self._listener.ended()

    def _limit(self, size: int) -> None:
        self._size += size
        if self._is_too_long():
            raise Malformed(TOO_LONG)

    def _is_too_long(self) -> bool:
        return self._size > HEAD_BYTES_MAX or self._count > HEADERS_MAX
