"""Python lists as PostgreSQL arrays, in the binary form of the wire.

psycopg can do this for any type, element by element; a group commit is mostly that, so the five
kinds of array that it needs are packed here, in a tenth of the time.
"""

import struct
from collections.abc import Sequence
from itertools import chain, repeat
from typing import cast

from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_LENGTH = struct.Struct(">i")
_HEAD = struct.Struct(">iiIii")
_NULL = _LENGTH.pack(-1)
_TEXT, _BYTEA, _INT8, _FLOAT8, _BOOL = 25, 17, 20, 701, 16


class Texts(bytes):
    """text[]. Half a character goes as it is: the server refuses it, and the others pass."""

    @classmethod
    def of(cls, values: Sequence[str | None]) -> "Texts":
        encoded = [None if v is None else v.encode("utf-8", "surrogatepass") for v in values]
        return cls(_packed(_TEXT, encoded))


class Blobs(bytes):
    """bytea[]"""

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> "Blobs":
        return cls(_packed(_BYTEA, values))


class Numbers(bytes):
    """bigint[]"""

    @classmethod
    def of(cls, values: Sequence[int | None]) -> "Numbers":
        return cls(_fixed(_INT8, "q", 8, values))


class Times(bytes):
    """double precision[]"""

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Times":
        return cls(_fixed(_FLOAT8, "d", 8, values))


class Flags(bytes):
    """boolean[]"""

    @classmethod
    def of(cls, values: Sequence[bool]) -> "Flags":
        return cls(_fixed(_BOOL, "?", 1, values))


class _Ready(Dumper):
    """The value is in its wire form already."""

    format = Format.BINARY

    def dump(self, obj: bytes) -> Buffer:
        return obj


class _TextsDumper(_Ready):
    oid = 1009


class _BlobsDumper(_Ready):
    oid = 1001


class _NumbersDumper(_Ready):
    oid = 1016


class _TimesDumper(_Ready):
    oid = 1022


class _FlagsDumper(_Ready):
    oid = 1000


def register(adapters: AdaptersMap) -> None:
    adapters.register_dumper(Texts, _TextsDumper)
    adapters.register_dumper(Blobs, _BlobsDumper)
    adapters.register_dumper(Numbers, _NumbersDumper)
    adapters.register_dumper(Times, _TimesDumper)
    adapters.register_dumper(Flags, _FlagsDumper)


def _head(oid: int, count: int, *, nulls: bool) -> bytes:
    """One dimension, counted from 1; an empty array has none."""
    return _HEAD.pack(1, nulls, oid, count, 1) if count else _HEAD.pack(0, 0, oid, 0, 0)[:12]


def _packed(oid: int, values: Sequence[bytes | None]) -> bytes:
    if None in values:
        parts = (_NULL if value is None else _LENGTH.pack(len(value)) + value for value in values)
        return _head(oid, len(values), nulls=True) + b"".join(parts)
    whole = cast("Sequence[bytes]", values)
    pairs = zip(map(_LENGTH.pack, map(len, whole)), whole, strict=True)
    return _head(oid, len(whole), nulls=False) + b"".join(chain.from_iterable(pairs))


def _fixed(oid: int, code: str, size: int, values: Sequence[float | None]) -> bytes:
    if None in values:
        one = struct.Struct(f">{code}")
        return _packed(oid, [None if value is None else one.pack(value) for value in values])
    pairs = zip(repeat(size), values, strict=False)
    body = struct.pack(f">{f'i{code}' * len(values)}", *chain.from_iterable(pairs))
    return _head(oid, len(values), nulls=False) + body
