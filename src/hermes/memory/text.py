"""Sanitise the text of an entry so that it stays data inside a prompt. Pure."""

import re
import unicodedata

from hermes.core.messages import sound
from hermes.lazy import LazyPattern

ENTRY_CHARS_MAX = 600

_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_OUR_NOTE = LazyPattern(r"\[(?=\s*(note by hermes|sent into this chat))", re.I)
_ROLE_TAG = LazyPattern(
    r"<(?=\s*[/|!]?\s*(system|assistant|user|human|tool|function|memory|instructions?|im_start"
    r"|im_end|endoftext|begin|end)\b)",
    re.I,
)
_FENCE = LazyPattern(r"`{3,}|~{3,}")
_RULE = LazyPattern(r"(?<!\S)(-{3,}|={3,})(?!\S)")
_ORDERS = LazyPattern(
    r"\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(instructions?|rules?|prompts?|polic\w+"
    r"|approvals?)\b|\bsystem prompt\b|\byou are now\b|\bdo not (tell|ask|inform) the "
    r"(user|person|owner)\b|\bwithout (asking|telling) the (user|person|owner)\b",
    re.I,
)
_SECRET = LazyPattern(
    r"\b(sk|rk|pk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY|\b\d{8,10}:[A-Za-z0-9_-]{35}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.",
)


def plain(text: str) -> str:
    """Return one line without invisible (control, bidirectional, zero-width) characters."""
    spaced = "".join(" " if c.isspace() else c for c in sound(text))
    seen = "".join(c for c in spaced if unicodedata.category(c) not in _UNSEEN)
    return " ".join(seen.split())


def clean(text: str) -> str:
    """Return `plain` text without code fences, rules, role tags and Hermes's own notes.
    Idempotent."""
    line = _OUR_NOTE.sub("(", plain(text))
    line = _ROLE_TAG.sub("(", line)
    line = _FENCE.sub("''", line)
    return " ".join(_RULE.sub("—", line).split())


def looks_like_orders(text: str) -> bool:
    """Return True if the text reads like instructions to the model (prompt injection)."""
    return _ORDERS.search(text) is not None


def looks_like_secret(text: str) -> bool:
    return _SECRET.search(text) is not None
