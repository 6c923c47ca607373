"""A body as it comes, counted as it is unpacked: no header is believed about its size."""

import zlib
from typing import Final

from hermes.egress.faults import Broken, TooMuch
from hermes.egress.response import Response

CODINGS: Final = ("gzip", "deflate")  # what we ask for, and undo
MEMBERS_MAX: Final = 64  # of a gzip stream: each one costs, even an empty one
_GZIP, _ZLIB, _RAW = 31, 15, -15


async def body_of(response: Response, bytes_max: int) -> bytes:
    """All of it. Raises TooMuch, and Broken where it ends too early or is packed strangely."""
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


class _Kept:
    """What was unpacked so far."""

    def __init__(self, coding: str, bytes_max: int) -> None:
        if coding and coding not in CODINGS:
            raise Broken(f"the body is packed as {coding[:40]!a}, which nobody asked for")
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
            raise Broken(f"the packed body is damaged ({broken})") from broken

    def whole(self) -> bytes:
        packed = self._first or (self._inflate is not None and not self._inflate.eof)
        if packed and (self._out or self._first):
            raise Broken("the packed body ends too early")
        return bytes(self._out)

    def _unpack(self, inflate: "zlib._Decompress", piece: bytes) -> None:
        while piece:
            if inflate.eof:
                if self._coding != "gzip" or not piece.startswith(b"\x1f"):
                    return  # what comes after the end means nothing
                self._members += 1
                if self._members > MEMBERS_MAX:
                    raise Broken("the body is packed in too many parts")
                inflate = self._inflate = zlib.decompressobj(_GZIP)
            room = self._bytes_max - len(self._out) + 1
            self._out += inflate.decompress(piece, room)
            if len(self._out) > self._bytes_max:
                raise _too_large(self._bytes_max)
            piece = inflate.unused_data if inflate.eof else inflate.unconsumed_tail


def _too_large(bytes_max: int) -> TooMuch:
    return TooMuch(f"it has more than {bytes_max:,} bytes")
