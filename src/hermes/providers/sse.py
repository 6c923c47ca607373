"""Parse server-sent events from bytes, in pieces of any size. No I/O."""

from msgspec import Struct

EVENT_BYTES_MAX = 16 * 1024 * 1024  # one event, an unfinished line included


class TooLong(ValueError):
    """An event exceeds the size limit."""


class ServerEvent(Struct, frozen=True):
    """One event. `name` is empty where the protocol gives none."""

    name: str
    data: bytes


class EventReader:
    """Take received bytes and return the events that are complete."""

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self._max = event_bytes_max
        self._tail: list[bytes] = []  # pieces of the line that has not ended yet
        self._tail_bytes = 0
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._first = True

    def feed(self, piece: bytes) -> list[ServerEvent]:
        lines = piece.split(b"\n")
        if self._tail and len(lines) > 1:
            self._tail.append(lines[0])
            lines[0] = b"".join(self._tail)
            self._tail, self._tail_bytes = [], 0
        unfinished = lines.pop()
        events = [event for line in lines if (event := self._line(line)) is not None]
        if unfinished:
            self._tail.append(unfinished)
            self._tail_bytes += len(unfinished)
            self._demand_room()
        return events

    def end(self) -> list[ServerEvent]:
        """End the stream. A last event without its blank line counts, because some servers stop
        that way."""
        found = self.feed(b"\n")
        last = self._dispatch()
        return [*found, last] if last is not None else found

    def _demand_room(self) -> None:
        if self._tail_bytes + self._data_bytes > self._max:
            raise TooLong(f"an event of more than {self._max} bytes")

    def _line(self, line: bytes) -> ServerEvent | None:
        if line.endswith(b"\r"):
            line = line[:-1]
        if self._first:
            line, self._first = line.removeprefix(b"\xef\xbb\xbf"), False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        if field == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._data_bytes += len(value)
            self._demand_room()
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._data_bytes = "", [], 0
        if not data:
            return None
        return ServerEvent(name, data[0] if len(data) == 1 else b"\n".join(data))
