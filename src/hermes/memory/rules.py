"""Decide whether a change is applied at once or waits for the person. Pure."""

from collections.abc import Sequence

from hermes.core.errors import Rejected
from hermes.memory.text import ENTRY_CHARS_MAX, clean, looks_like_orders, looks_like_secret
from hermes.ports.memory import By, Fill, MemoryChange, MemoryClaim, MemoryEntry, Target

CLAIMS_MAX = 20
OLD_MAX = 50
EVIDENCE_MAX = 10
MARK_CHARS = 3  # "- " and the line break: the overhead of an entry

UNTRUSTED = "it comes from a conversation that has read untrusted content"
ORDERS = "it reads like an order, not like a fact"
FULL = "there is no room for it"
TOGETHER = "it puts several entries together"
YOURS = "it changes what the person wrote"


def cleaned(change: MemoryChange) -> MemoryChange:
    """Return the change with cleaned texts. Raise Rejected with the problem."""
    if len(change.old) > OLD_MAX or len(change.new) > CLAIMS_MAX:
        raise Rejected("too many entries at once")
    if change.action in ("add", "replace", "describe") and not change.new:
        raise Rejected("there is no text to keep")
    if change.action in ("replace", "remove") and not change.old:
        raise Rejected("say which entry, by its id or by words that are only in it")
    new = tuple(
        MemoryClaim(_fit(claim.text), claim.evidence[:EVIDENCE_MAX]) for claim in change.new
    )
    return MemoryChange(action=change.action, target=change.target, new=new, old=change.old)


def _fit(text: str) -> str:
    line = clean(text)
    if not line:
        raise Rejected("there is no text to keep")
    if len(line) > ENTRY_CHARS_MAX:
        over = f"the entry has {len(line)} characters, and the limit is {ENTRY_CHARS_MAX}"
        raise Rejected(f"{over}. Shorten it, or split it into two facts")
    if looks_like_secret(line):
        raise Rejected("that looks like a secret. Secrets go into .env, never into memory")
    return line


def why_not_now(
    change: MemoryChange, by: By, *, old: Sequence[MemoryEntry], fill: Fill, after: int
) -> str:
    """Return why this change must wait for the person; "" if it can be applied now."""
    if by.author == "person" or by.trust == "approved":
        return ""
    if by.trust == "untrusted":
        return UNTRUSTED
    if any(looks_like_orders(claim.text) for claim in change.new):
        return ORDERS
    if change.action == "replace" and len(old) > 1:
        return TOGETHER
    if by.author == "background" and any(entry.author == "person" for entry in old):
        return YOURS
    if after > fill.most and after > fill.chars:
        return FULL
    return ""


def size_of(texts: Sequence[str]) -> int:
    return sum(len(text) + MARK_CHARS for text in texts)


def least_used(entries: Sequence[MemoryEntry], count: int) -> tuple[MemoryEntry, ...]:
    return tuple(
        sorted(entries, key=lambda entry: (max(entry.used, entry.created), entry.id))[:count]
    )


def files() -> dict[Target, tuple[str, str]]:
    """Return the file name and the heading line for each target."""
    return {
        "memory": ("MEMORY.md", "# Memory\n\n"),
        "user": ("USER.md", "# The person\n\n"),
        "person": ("PERSON.md", "# Portrait of the person\n\n"),
    }
