"""Decompress untrusted data up to a limit, whatever its header claims (zip bombs)."""

import bz2
import lzma
import zlib
from typing import Protocol

from hermes.core.errors import Rejected

ENTRIES_MAX = 5_000
UNPACKED_BYTES_MAX = 20_000_000
WINDOW_BYTES_MAX = 128_000_000
STEP = 1_000_000
GZIP_WINDOW = 31


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...

    @property
    def eof(self) -> bool: ...


def unpacked(raw: bytes) -> bytes:
    """Return the uncompressed tar. Raise Rejected."""
    if raw.startswith(b"\x1f\x8b"):
        return _gunzipped(raw)
    if raw.startswith(b"BZh"):
        return _all(bz2.BZ2Decompressor(), raw)
    if raw.startswith(b"\xfd7zXZ\0"):
        return _all(lzma.LZMADecompressor(memlimit=WINDOW_BYTES_MAX), raw)
    if raw[257:262] == b"ustar":
        _demand_room(len(raw))
        return raw
    raise Rejected("this is not a readable archive: use zip, tar, tar.gz, tar.bz2 or tar.xz")


def _gunzipped(raw: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=GZIP_WINDOW)
    out = bytearray()
    try:
        while raw and not inflate.eof:
            out += inflate.decompress(raw, STEP)
            raw = inflate.unconsumed_tail
            _demand_room(len(out))
    except zlib.error as broken:
        raise Rejected(f"the archive is damaged ({broken})") from broken
    if not inflate.eof:
        raise Rejected("the archive is damaged (it ends too early)")
    return bytes(out)


def _all(stream: _Decompressor, raw: bytes) -> bytes:
    out = bytearray()
    try:
        piece = stream.decompress(raw, max_length=STEP)
        out += piece
        while not stream.eof and (piece := stream.decompress(b"", max_length=STEP)):
            out += piece
            _demand_room(len(out))
    except (OSError, lzma.LZMAError, EOFError) as broken:
        raise Rejected(f"the archive is damaged ({broken})") from broken
    if not stream.eof:
        raise Rejected("the archive is damaged (it ends too early)")
    return bytes(out)


def _demand_room(size: int) -> None:
    if size > UNPACKED_BYTES_MAX:
        raise Rejected(f"the archive unpacks to more than {UNPACKED_BYTES_MAX:,} bytes")
