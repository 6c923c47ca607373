"""Compute the next version and the next file content from the history. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.memory.blocks import MemoryBlock, blocks_of, entries_of, inserted, replaced, text_of
from hermes.memory.ledger import MemoryLedger
from hermes.memory.matching import edit_of, found
from hermes.memory.place import NOTHING, digest_of
from hermes.memory.rules import files
from hermes.ports.memory import By, MemoryChange, MemoryEntry, MemoryVersion, Target

BY_HAND = "edit"
UNDO = "undo"
Next = tuple[MemoryVersion, bytes]


def decoded(content: bytes) -> str:
    """Return the bytes as text; bytes that are not valid UTF-8 round-trip unchanged."""
    return content.decode("utf-8", "surrogateescape")


def encoded(blocks: Sequence[MemoryBlock]) -> bytes:
    return text_of(blocks).encode("utf-8", "surrogateescape")


def by_hand(ledger: MemoryLedger, target: Target, content: bytes, now: float) -> MemoryVersion:
    """Return the version that records a person's edit of the file. A new entry supersedes the
    removed entry that it resembles most."""
    texts = entries_of(blocks_of(decoded(content)))
    edit = edit_of(ledger.entries(target), texts)
    ids = iter(ledger.next_ids(edit.order.count(None)))
    order: list[str] = []
    added: list[MemoryEntry] = []
    for text, stayed, before in zip(texts, edit.order, edit.before, strict=True):
        if stayed is None:
            older = (before.id,) if before is not None else ()
            id_ = next(ids)
            added.append(
                MemoryEntry(id=id_, target=target, text=text, created=now, supersedes=older)
            )
            order.append(id_)
        else:
            order.append(stayed.id)
    return MemoryVersion(
        number=ledger.next_number,
        at=now,
        target=target,
        why=BY_HAND,
        by=By(author="person"),
        before=ledger.digest(target, NOTHING),
        after=digest_of(content),
        removed=edit.gone,
        added=tuple(added),
        order=tuple(order),
    )


def superseded(ledger: MemoryLedger, change: MemoryChange) -> tuple[MemoryEntry, ...]:
    """Return the entries that a change replaces. Raise Rejected if a name matches none or
    several."""
    entries = ledger.entries(change.target)
    if change.action == "describe":
        return tuple(entry for entry in entries if entry.author != "person")
    meant = [found(entries, name) for name in change.old]
    return tuple(entry for entry in entries if entry in meant)


def changed(
    ledger: MemoryLedger,
    content: bytes,
    change: MemoryChange,
    by: By,
    *,
    now: float,
    proposal: str = "",
) -> Next:
    target, old = change.target, superseded(ledger, change)
    order, ids = ledger.order[target], ledger.next_ids(len(change.new))
    new = tuple(
        MemoryEntry(
            id=id_,
            target=target,
            text=claim.text,
            created=now,
            turn=by.turn,
            author=by.author,
            trust=by.trust,
            supersedes=tuple(entry.id for entry in old),
            evidence=claim.evidence,
        )
        for id_, claim in zip(ids, change.new, strict=True)
    )
    places = [order.index(entry.id) for entry in old]
    before = blocks_of(decoded(content or files()[target][1].encode()))
    blocks = replaced(before, places, [entry.text for entry in new])
    kept = [id_ for id_ in order if all(id_ != entry.id for entry in old)]
    at = places[0] if places else len(kept)
    version = MemoryVersion(
        number=ledger.next_number,
        at=now,
        target=target,
        why=change.action,
        by=by,
        before=digest_of(content),
        after="",
        removed=old,
        added=new,
        order=(*kept[:at], *(entry.id for entry in new), *kept[at:]),
        proposal=proposal,
    )
    return _checked(ledger, version, encoded(blocks))


def undone(
    ledger: MemoryLedger,
    content: bytes,
    version: MemoryVersion,
    *,
    by: By,
    now: float,
    before: bytes | None,
) -> Next:
    """Return the version that undoes `version`. If the file has not changed since, restore the
    bytes of `before`; otherwise restore the entries only. Raise Rejected if they changed later."""
    order = ledger.order_before(version.number)
    if before is None:
        blocks, order = _entries_back(ledger, content, version, order)
        before = encoded(blocks)
    made = MemoryVersion(
        number=ledger.next_number,
        at=now,
        target=version.target,
        why=UNDO,
        by=by,
        before=digest_of(content),
        after="",
        removed=tuple(ledger.known[entry.id] for entry in version.added),
        added=tuple(ledger.known[entry.id] for entry in version.removed),
        order=order,
        undoes=version.number,
    )
    return _checked(ledger, made, before)


def _entries_back(
    ledger: MemoryLedger, content: bytes, version: MemoryVersion, before: Sequence[str]
) -> tuple[list[MemoryBlock], tuple[str, ...]]:
    order = list(ledger.order[version.target])
    if not version.added and not version.removed:
        raise Rejected(f"version {version.number} changed no entry, and the file has changed since")
    for entry in version.added:
        if entry.id not in order:
            later = _ended_by(ledger, entry.id)
            raise Rejected(f"{entry.id} was changed later, by version {later}. Undo that one first")
    places = [order.index(entry.id) for entry in version.added]
    blocks = replaced(blocks_of(decoded(content)), places, []) if places else None
    order = [id_ for n, id_ in enumerate(order) if n not in places]
    made = list(blocks if blocks is not None else blocks_of(decoded(content)))
    for entry in version.removed:
        if entry.id in order:
            continue
        earlier = before[: before.index(entry.id)] if entry.id in before else ()
        above = [order.index(id_) for id_ in earlier if id_ in order]
        at = max(above, default=-1)
        made = inserted(made, at, entry.text)
        order.insert(at + 1, entry.id)
    return made, tuple(order)


def _ended_by(ledger: MemoryLedger, id_: str) -> int:
    ends = [v.number for v in ledger.versions if any(entry.id == id_ for entry in v.removed)]
    return ends[-1] if ends else 0


def _checked(ledger: MemoryLedger, version: MemoryVersion, content: bytes) -> Next:
    """Return the version with its content. Raise Rejected if the content does not parse back into
    the version's entries."""
    known = {**ledger.known, **{entry.id: entry for entry in version.added}}
    meant = tuple(known[id_].text for id_ in version.order)
    if entries_of(blocks_of(decoded(content))) != meant:
        name = files()[version.target][0]
        fix = "Look at its end: a code block or a comment may be open"
        raise Rejected(f"{name} cannot take that as an entry of its own. {fix}")
    return replace(version, after=digest_of(content)), content
