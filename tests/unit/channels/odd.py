"""Odd documents: a good one with something else at each of its places, and some that are none."""

import json
from collections.abc import Iterator
from typing import Any

HALF = "half a sign: \ud83d"  # as an escape, which JSON allows
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 2**63, 10**40, 1.5, 1e308, "", " ", "\0", HALF, "x" * 5_000),
    *([], {}, [None], [[]], {"": None}, [HALF], {"type": 5}),
)
NOT_DOCUMENTS = (
    *(b"", b" ", b"{", b"null", b"[]", b"1", b'"x"', b"{}", b"nul", b"\xff\xfe", b'{"a":1}{"b":2}'),
    *(b"[" * 100_000, b'{"a":' * 5_000, b'"\\ud83d"', b"1" * 5_000, b"-", b"\x00"),
)


def documents(good: Any) -> Iterator[bytes]:
    """As bytes: with each value in each place, with each place left out."""
    yield from NOT_DOCUMENTS
    for path in _paths(good):
        yield from (json.dumps(_changed(good, path, value)).encode() for value in VALUES)
        yield json.dumps(_without(good, path)).encode()


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from _paths(each, (*path, key))


def _changed(good: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(good))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


def _without(good: Any, path: tuple[Any, ...]) -> Any:
    copy = _changed(good, path, None)
    place = copy
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return copy
