"""Parse requests with httptools (llhttp) in its strict mode, with limits on the head.

Nothing of HTTP is parsed by hand here.
"""

from typing import Final, Protocol

import httptools

from hermes.httpd.head import Ends, Fields, RequestHead, authority_of, path_of
from hermes.httpd.request import HttpRequest

HEAD_BYTES_MAX: Final = 32_768
HEADERS_MAX: Final = 100
VERSIONS: Final = ("1.0", "1.1")
BAD, TOO_LONG = 400, 431


class Malformed(Exception):
    """The input is not an HTTP request, or its head is too long; `status` says which."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class RequestListener(Protocol):
    def on_request(self, head: RequestHead) -> HttpRequest:
        """Take a complete head. Return the request that receives its body."""

    def on_request_end(self) -> None:
        """Take the end of the request's body."""


class RequestParser:
    """Parse the requests of one connection. `over`: the last request was read, and input behind it
    is ignored."""

    def __init__(self, listener: RequestListener, ends: Ends) -> None:
        self.over = False
        self.raw = 0  # bytes since the end of a head, or since a piece of a body
        self._listener, self._ends = listener, ends
        self._http = httptools.HttpRequestParser(self)
        self._request: HttpRequest | None = None
        self._begun = False
        self._url = b""
        self._headers: Fields = []
        self._size = self._count = 0  # of the fields: bytes, and how many
        self._last = self._expects = self._upgrades = False

    @property
    def is_amid_head(self) -> bool:
        return self._begun or self.raw > 0

    def end(self) -> None:
        """Stop parsing. This breaks the reference cycle with the C parser."""
        self.over, self._request = True, None
        del self._http, self._listener

    def feed(self, piece: bytes | memoryview) -> None:
        """Parse received bytes. Raise Malformed."""
        self.raw += len(piece)
        while piece and not self.over:
            piece = self._parse(piece)
        if self.raw > HEAD_BYTES_MAX:
            raise Malformed(TOO_LONG)

    def _parse(self, piece: bytes | memoryview) -> bytes | memoryview:
        """Parse received bytes. Return those that have not been read yet."""
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
        """Continue after a request for an upgrade, which is never granted. The C parser has left
        HTTP before the body, so a new one gets the same head without the upgrade; else the body
        would be read as the next request (request smuggling)."""
        if self._http.get_method() == b"CONNECT":
            raise Malformed(BAD)
        version = self._http.get_http_version().encode()
        lines = [self._http.get_method() + b" " + self._url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self._headers if name != b"upgrade"]
        self._upgrades = False
        self._http = httptools.HttpRequestParser(self)
        self._parse(b"\r\n".join(lines) + b"\r\n\r\n")

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", []
        self._size = self._count = 0
        self._begun, self._expects = True, False

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._limit(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header against the limits. Trailers behind a body count too, and are dropped."""
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
        headers, self._headers = self._headers, []
        if version not in VERSIONS or sum(name == b"host" for name, _ in headers) > 1:
            raise Malformed(BAD)  # RFC 9112, 3.2: a server must refuse more than one Host
        path, query = path_of(self._url)
        if (authority := authority_of(self._url)) is not None:
            headers.append((b"host", authority))
        head = RequestHead(
            http.get_method().decode("ascii"),
            path,
            headers,
            self._ends,
            query=query,
            chunks=version == "1.1",
            last=self._last,
            expects=self._expects,
        )
        self._request = self._listener.on_request(head)

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
            self._listener.on_request_end()

    def _limit(self, size: int) -> None:
        self._size += size
        if self._is_too_long():
            raise Malformed(TOO_LONG)

    def _is_too_long(self) -> bool:
        return self._size > HEAD_BYTES_MAX or self._count > HEADERS_MAX
