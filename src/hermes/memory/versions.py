"""From the history and a file's bytes to the next version and the next bytes. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.memory.blocks import Block, blocks_of, entries_of, inserted, replaced, text_of
from hermes.memory.ledger import Ledger
from hermes.memory.matching import edit_of, found
from hermes.memory.place import NOTHING, digest_of
from hermes.memory.rules import files
from hermes.views.memory import By, Change, Entry, Target, Version

BY_HAND = "edit"
UNDO = "undo"
Next = tuple[Version, bytes]


def decoded(content: bytes) -> str:
    """Bytes that are no UTF-8 survive as they are."""
    return content.decode("utf-8", "surrogateescape")


def encoded(blocks: Sequence[Block]) -> bytes:
    return text_of(blocks).encode("utf-8", "surrogateescape")


def by_hand(ledger: Ledger, target: Target, content: bytes, now: float) -> Version:
    """What a person did to the file. An entry that is much like one that is gone supersedes it."""
    texts = entries_of(blocks_of(decoded(content)))
    edit = edit_of(ledger.entries(target), texts)
    ids = iter(ledger.next_ids(edit.order.count(None)))
    order: list[str] = []
    added: list[Entry] = []
    for text, stayed, before in zip(texts, edit.order, edit.before, strict=True):
        if stayed is None:
            older = (before.id,) if before is not None else ()
            id_ = next(ids)
            added.append(Entry(id=id_, target=target, text=text, created=now, supersedes=older))
            order.append(id_)
        else:
            order.append(stayed.id)
    return Version(
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


def superseded(ledger: Ledger, change: Change) -> tuple[Entry, ...]:
    """The entries that a change means. Raises Rejected."""
    entries = ledger.entries(change.target)
    if change.action == "describe":
        return tuple(entry for entry in entries if entry.author != "person")
    meant = [found(entries, name) for name in change.old]
    return tuple(entry for entry in entries if entry in meant)


def changed(
    ledger: Ledger, content: bytes, change: Change, by: By, *, now: float, proposal: str = ""
) -> Next:
    target, old = change.target, superseded(ledger, change)
    order, ids = ledger.order[target], ledger.next_ids(len(change.new))
    new = tuple(
        Entry(
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
    version = Version(
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
    ledger: Ledger, content: bytes, version: Version, *, by: By, now: float, before: bytes | None
) -> Next:
    """`before` are the bytes to go back to, when nothing has changed in that file since; else only
    the entries go back. Raises Rejected when they cannot."""
    order = ledger.order_before(version.number)
    if before is None:
        blocks, order = _entries_back(ledger, content, version, order)
        before = encoded(blocks)
    made = Version(
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
    ledger: Ledger, content: bytes, version: Version, before: Sequence[str]
) -> tuple[list[Block], tuple[str, ...]]:
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


def _ended_by(ledger: Ledger, id_: str) -> int:
    ends = [v.number for v in ledger.versions if any(entry.id == id_ for entry in v.removed)]
    return ends[-1] if ends else 0


def _checked(ledger: Ledger, version: Version, content: bytes) -> Next:
    """The file must say what the history will say. Raises Rejected."""
    known = {**ledger.known, **{entry.id: entry for entry in version.added}}
    meant = tuple(known[id_].text for id_ in version.order)
    if entries_of(blocks_of(decoded(content))) != meant:
        name = files()[version.target][0]
        fix = "Look at its end: a code block or a comment may be open"
        raise Rejected(f"{name} cannot take that as an entry of its own. {fix}")
    return replace(version, after=digest_of(content)), content
