"""Find how far a cursor may move while messages are accepted in parallel (C70). Pure."""

from msgspec import Struct, field


class Watermark(Struct):
    """Track the positions that are being accepted.

    Positions begin in the platform's order and may end in any order.
    """

    _open: dict[str, bool] = field(default_factory=dict)  # position: was it accepted?

    def begin(self, position: str) -> None:
        self._open[position] = False

    def end(self, position: str) -> str:
        """Return the last position with nothing open before it; "" before the first one."""
        self._open[position] = True
        reached = ""
        for earlier, accepted in tuple(self._open.items()):
            if not accepted:
                break
            reached = earlier
            del self._open[earlier]
        return reached
