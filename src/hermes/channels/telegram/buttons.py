"""The buttons under a question: their content, and what a press says. Pure.

Telegram keeps 64 bytes for a button. A longer value stays in the card's outbox row, and the button
has its digest. A button in a group carries a stamp of the session that was asked, so that no other
person answers by accident.
"""

import base64
import hashlib
from collections.abc import Sequence

from msgspec import Struct

from hermes.channels.telegram.manifest import BUTTONS
from hermes.core.ids import SessionKey, SessionName, name_of
from hermes.core.messages import Reply

BYTES_MAX = BUTTONS.value_bytes
LABEL_CHARS_MAX = BUTTONS.label_chars
BUTTONS_MAX = BUTTONS.rows
ROW_CHARS_MAX = 30  # labels that are short stand side by side
STAMP_CHARS = 8

_SAYS, _KEPT = "|", "#"
_YES = ("approve", "yes", "yes, for this session", "yes, for this folder", "always")
_SIGNS = {**dict.fromkeys(_YES, "✅"), **dict.fromkeys(("deny", "no"), "❌")}


class Button(Struct, frozen=True):
    label: str
    code: str
    kept: str = ""  # what the code's digest stands for, if anything


class Press(Struct, frozen=True):
    """`text` is what the button says; if it is empty, `digest` names the stored value."""

    stamp: str = ""
    text: str = ""
    digest: str = ""

    def is_for(self, lane: SessionKey) -> bool:
        return not self.stamp or self.stamp == stamp_of(lane)


def keyboard_of(reply: Reply) -> Sequence[Sequence[Button]]:
    """Return the buttons of a reply in rows."""
    name = name_of(reply.session)
    group = SessionName("telegram", "group", reply.address.chat)
    asked = name is not None and name.whole_chat == group.whole_chat
    stamp = stamp_of(reply.session) if asked else ""
    rows: list[list[Button]] = []
    room = 0
    for label, says in reply.buttons[:BUTTONS_MAX]:
        button = _button(label, says, stamp)
        if not rows or len(button.label) > room or len(rows[-1]) == BUTTONS.per_row:
            rows.append([])
            room = ROW_CHARS_MAX
        rows[-1].append(button)
        room -= len(button.label)
    return rows


def press_of(code: str) -> Press:
    """Return what was pressed. A code without our signs is the text itself."""
    for stamp in ("", code[:STAMP_CHARS]):
        sign, rest = code[len(stamp) : len(stamp) + 1], code[len(stamp) + 1 :]
        if sign == _KEPT:
            return Press(stamp, "", rest)
        if sign == _SAYS:
            return Press(stamp, rest)
    return Press("", code)


def stamp_of(lane: SessionKey) -> str:
    digest = hashlib.sha256(lane.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode()[:STAMP_CHARS]


def _button(label: str, says: str, stamp: str) -> Button:
    words = " ".join((label or says).split())[:LABEL_CHARS_MAX] or "…"
    sign = _SIGNS.get(words.lower(), "")
    shown = f"{sign} {words}" if sign else words
    plain = says if not stamp and press_of(says) == Press("", says) else f"{stamp}{_SAYS}{says}"
    if len(plain.encode()) <= BYTES_MAX:
        return Button(shown, plain)
    return Button(shown, f"{stamp}{_KEPT}{digest_of(says)}", says)


def digest_of(says: str) -> str:
    """Return the digest by which a press names a value that is too long for the button."""
    return hashlib.sha256(says.encode()).hexdigest()[:32]
