"""Read and decompress a response body within a size limit, whatever content-length says."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Final

from hermes.wire.faults import Broken, Stuck, TooMuch
from hermes.wire.response import Response

CODINGS: Final = ("gzip", "deflate")  # what we ask for, and undo
MEMBERS_MAX: Final = 64  # of a gzip stream: each one costs, even an empty one
_GZIP, _ZLIB, _RAW = 31, 15, -15


async def body_of(response: Response, bytes_max: int) -> bytes:
    """Return the whole body. Raise TooMuch, or Broken when it ends early or is compressed in an
    unknown way."""
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > bytes_max:
        raise _too_large(bytes_max)
    kept = _Kept(response.encoding.removeprefix("x-"), bytes_max)
    came = 0
    async for piece in response:
        came += len(piece)
        if came > bytes_max:
            raise _too_large(bytes_max)
        kept.add(piece)
    return kept.whole()


class Limited:
    """The body of a response in pieces, up to a limit. A caller may stop in the middle at no cost.
    Raise TooMuch beyond the limit, and Stuck after `silence_s` without a byte."""

    def __init__(self, response: Response, bytes_max: int, silence_s: float | None = None) -> None:
        announced = response.headers.get("content-length", "")
        self._too_large = announced.isdecimal() and int(announced[:20]) > bytes_max
        self._response = response
        self._bytes_max = bytes_max
        self._silence_s = silence_s
        self._total = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._too_large:
            raise _too_large(self._bytes_max)
        if self._silence_s is None:
            piece = await anext(self._response)
        else:
            piece = await self._next_in_time(self._silence_s)
        self._total += len(piece)
        if self._total > self._bytes_max:
            raise _too_large(self._bytes_max)
        return piece

    async def _next_in_time(self, silence_s: float) -> bytes:
        try:
            async with asyncio.timeout(silence_s):
                return await anext(self._response)
        except TimeoutError as late:
            raise Stuck(f"silent for {silence_s:g} s in the middle of a body") from late


class _Kept:
    """Collects the decompressed bytes."""

    def __init__(self, coding: str, bytes_max: int) -> None:
        if coding and coding not in CODINGS:
            raise Broken(f"the body is compressed as {coding[:40]!a}, which was not requested")
        self._coding = coding
        self._bytes_max = bytes_max
        self._out = bytearray()
        self._first = b""  # of a deflate stream: its first bytes say which kind it is
        self._members = 0
        self._inflate = zlib.decompressobj(_GZIP) if coding == "gzip" else None

    def add(self, piece: bytes) -> None:
        if not self._coding:
            self._out += piece
            return
        if self._inflate is None:
            self._first += piece
            if len(self._first) < 2:
                return
            piece, self._first = self._first, b""
            zlibbed = piece[0] & 15 == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
            self._inflate = zlib.decompressobj(_ZLIB if zlibbed else _RAW)
        try:
            self._unpack(self._inflate, piece)
        except zlib.error as broken:
            raise Broken(f"the compressed body is damaged ({broken})") from broken

    def whole(self) -> bytes:
        packed = self._first or (self._inflate is not None and not self._inflate.eof)
        if packed and (self._out or self._first):
            raise Broken("the compressed body ends too early")
        return bytes(self._out)

    def _unpack(self, inflate: "zlib._Decompress", piece: bytes) -> None:
        while piece:
            if inflate.eof:
                if self._coding != "gzip" or not piece.startswith(b"\x1f"):
                    return  # what comes after the end means nothing
                self._members += 1
                if self._members > MEMBERS_MAX:
                    raise Broken("the body is compressed in too many parts")
                inflate = self._inflate = zlib.decompressobj(_GZIP)
            room = self._bytes_max - len(self._out) + 1
            self._out += inflate.decompress(piece, room)
            if len(self._out) > self._bytes_max:
                raise _too_large(self._bytes_max)
            piece = inflate.unused_data if inflate.eof else inflate.unconsumed_tail


def _too_large(bytes_max: int) -> TooMuch:
    return TooMuch(f"it has more than {bytes_max:,} bytes")
