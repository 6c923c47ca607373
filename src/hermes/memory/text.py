"""The words of an entry: one paragraph that cannot pass for anything but data. Pure."""

import re
import unicodedata

from hermes.core.messages import sound
from hermes.views.expressions import Expression

ENTRY_CHARS_MAX = 600

_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_OUR_NOTE = Expression(r"\[(?=\s*(note by hermes|sent into this chat))", re.I)
_ROLE_TAG = Expression(
    r"<(?=\s*[/|!]?\s*(system|assistant|user|human|tool|function|memory|instructions?|im_start"
    r"|im_end|endoftext|begin|end)\b)",
    re.I,
)
_FENCE = Expression(r"`{3,}|~{3,}")
_RULE = Expression(r"(?<!\S)(-{3,}|={3,})(?!\S)")
_ORDERS = Expression(
    r"\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(instructions?|rules?|prompts?|polic\w+"
    r"|approvals?)\b|\bsystem prompt\b|\byou are now\b|\bdo not (tell|ask|inform) the "
    r"(user|person|owner)\b|\bwithout (asking|telling) the (user|person|owner)\b",
    re.I,
)
_SECRET = Expression(
    r"\b(sk|rk|pk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY|\b\d{8,10}:[A-Za-z0-9_-]{35}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.",
)


def plain(text: str) -> str:
    """One line without anything unseen (control, bidirectional and zero-width characters)."""
    spaced = "".join(" " if c.isspace() else c for c in sound(text))
    seen = "".join(c for c in spaced if unicodedata.category(c) not in _UNSEEN)
    return " ".join(seen.split())


def clean(text: str) -> str:
    """`plain`, and neither a fence, nor a rule, nor a note or a tag of ours. Doing it twice is
    doing it once."""
    line = _OUR_NOTE.sub("(", plain(text))
    line = _ROLE_TAG.sub("(", line)
    line = _FENCE.sub("''", line)
    return " ".join(_RULE.sub("—", line).split())


def looks_like_orders(text: str) -> bool:
    """Does it want to be obeyed, more than to be known?"""
    return _ORDERS.search(text) is not None


def looks_like_secret(text: str) -> bool:
    return _SECRET.search(text) is not None
