"""Track the highest message numbers, and which messages are ours. Pure.

Telegram numbers messages upwards: private chats and small groups of a bot share one sequence, and
each larger group or channel has its own. So a message that is sent now gets a higher number than
all before it.
"""

from collections import OrderedDict
from typing import Final

ROWS_MAX: Final = 5_000  # of numbers; who was not heard of for longest is forgotten
SENT_MAX: Final = 2_000
LOOKS_MAX: Final = 24  # for one message: those of other chats may have been counted between
LOOKS_OWN_MAX: Final = 6  # in a row of its own, only what was written there at that moment
SHARED: Final = ""
LARGE: Final = -(10**12)  # chats of a row of their own lie below


class UpdateNumbers:
    def __init__(self) -> None:
        self._last: OrderedDict[str, int] = OrderedDict()
        self._sent: OrderedDict[tuple[str, int], None] = OrderedDict()

    def seen(self, chat: str, message: int) -> None:
        """Note that a message with this number exists."""
        row = _row(chat)
        self._last[row] = max(message, self._last.get(row, 0))
        self._last.move_to_end(row)
        if len(self._last) > ROWS_MAX:
            self._last.popitem(last=False)

    def sent(self, chat: str, message: int) -> None:
        """Note that this number is the message of one reply, and of no other."""
        self.seen(chat, message)
        self._sent[chat, message] = None
        if len(self._sent) > SENT_MAX:
            self._sent.popitem(last=False)

    def is_sent(self, chat: str, message: int) -> bool:
        return (chat, message) in self._sent

    def last(self, chat: str) -> int:
        """Return the highest known number; 0 when none is known."""
        return self._last.get(_row(chat), 0)


def next_numbers(chat: str, behind: str) -> range:
    """Return the numbers that a message sent after this receipt may have."""
    if not behind.isdecimal():
        return range(0)
    first = int(behind) + 1
    return range(first, first + (LOOKS_MAX if _row(chat) == SHARED else LOOKS_OWN_MAX))


def _row(chat: str) -> str:
    small = chat.lstrip("-").isdecimal() and int(chat) > LARGE
    return SHARED if small else chat
