"""Server-sent events out of bytes, in pieces of any size. No I/O."""

from msgspec import Struct

EVENT_BYTES_MAX = 16 * 1024 * 1024  # one event, an unfinished line included


class TooLong(ValueError):
    """The server sends an event that has no end."""


class ServerEvent(Struct, frozen=True):
    """`name` is empty where the protocol gives none."""

    name: str
    data: bytes


class EventReader:
    """Feed it what arrives; it gives back the events that are complete."""

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self._max = event_bytes_max
        self._tail: list[bytes] = []  # pieces of the line that has not ended yet
        self._tail_bytes = 0
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._first = True

    def feed(self, piece: bytes) -> list[ServerEvent]:
        head, *rest = piece.split(b"\n")
        self._keep(head)
        events: list[ServerEvent] = []
        for following in rest:
            line = b"".join(self._tail)
            self._tail, self._tail_bytes = [], 0
            if (event := self._line(line)) is not None:
                events.append(event)
            self._keep(following)
        return events

    def end(self) -> list[ServerEvent]:
        """The stream is over. A last event without its blank line counts: some servers stop so."""
        found = self.feed(b"\n")
        last = self._dispatch()
        return [*found, last] if last is not None else found

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._tail.append(piece)
            self._tail_bytes += len(piece)
        if self._tail_bytes + self._data_bytes > self._max:
            raise TooLong(f"an event of more than {self._max} bytes")

    def _line(self, line: bytes) -> ServerEvent | None:
        line = line.removesuffix(b"\r")
        if self._first:
            line, self._first = line.removeprefix(b"\xef\xbb\xbf"), False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._data_bytes = "", [], 0
        return ServerEvent(name, b"\n".join(data)) if data else None
