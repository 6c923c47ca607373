"""Server-sent events: what counts as one, however it is written and wherever it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.providers.sse import EventReader, ServerEvent, TooLong


def read(raw: bytes, size: int = 1_000_000, limit: int = 10_000) -> list[ServerEvent]:
    reader = EventReader(limit)
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [ServerEvent("", b"a"), ServerEvent("", b"b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [ServerEvent("", b"a"), ServerEvent("", b"b")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [ServerEvent("x", b"a"), ServerEvent("", b"b")]),
        (b"data:a\ndata: b\n\n", [ServerEvent("", b"a\nb")]),
        (b"\xef\xbb\xbfdata: a\n\n", [ServerEvent("", b"a")]),
        (b": comment\n\n: another\ndata: a\nid: 7\nretry: 3\n\n", [ServerEvent("", b"a")]),
        (b"data: a", [ServerEvent("", b"a")]),
        (b"data: a\n", [ServerEvent("", b"a")]),
        (b"event: x\n\n", []),
        (b"data\n\n", [ServerEvent("", b"")]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_events_are_found_in_pieces_of_every_size(raw: bytes, events: list[ServerEvent]) -> None:
    for size in range(1, len(raw) + 2):
        assert read(raw, size) == events


@given(st.binary(max_size=200), st.integers(1, 20))
def test_any_bytes_give_the_same_events_whole_and_in_pieces(raw: bytes, size: int) -> None:
    assert read(raw, size) == read(raw)


@pytest.mark.parametrize("line", [b"data: xxxxxxxxxx\n", b"x" * 17])
def test_an_event_longer_than_its_limit_is_refused(line: bytes) -> None:
    with pytest.raises(TooLong):
        read(line * 1000, limit=1000)
