"""Find the entry that a name or an edited text refers to. Pure."""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from hermes.core.errors import Rejected
from hermes.memory.text import clean
from hermes.ports.memory import MemoryEntry
from hermes.text.similar import likeness

ALIKE = 0.6  # of the characters: treat it as the same entry, edited
COMPARED_MAX = 100  # entries on each side; beyond this, treat it as a different file
SHOWN_CHARS = 60


def found(entries: Sequence[MemoryEntry], name: str) -> MemoryEntry:
    """Return the entry with this id, this text, or these words if only one entry has them. Raise
    Rejected with the candidates otherwise."""
    wanted = clean(name).lower()
    by_id = [entry for entry in entries if entry.id == wanted]
    whole = [entry for entry in entries if entry.text.lower() == wanted]
    part = [entry for entry in entries if wanted and wanted in entry.text.lower()]
    fitting = by_id or whole or part
    if len(fitting) == 1 or (fitting and fitting == whole):
        return fitting[0]
    if fitting:
        raise Rejected(f"“{short(name)}” matches several entries: {listed(fitting)}. Give an id")
    there = f"The entries are: {listed(entries)}" if entries else "There are none"
    raise Rejected(f"no entry matches “{short(name)}”. {there}")


def listed(entries: Sequence[MemoryEntry]) -> str:
    return "; ".join(f"{entry.id} “{short(entry.text)}”" for entry in entries)


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1].rstrip()}…"


class MemoryEdit(Struct, frozen=True, kw_only=True):
    """What a person did to a file. For each text, `order` has the entry that stayed, or None for a
    new one; `before` has the entry that a new one supersedes."""

    order: tuple[MemoryEntry | None, ...]
    before: tuple[MemoryEntry | None, ...]
    gone: tuple[MemoryEntry, ...]


def edit_of(entries: Sequence[MemoryEntry], texts: Sequence[str]) -> MemoryEdit:
    same: dict[str, deque[MemoryEntry]] = {}
    for entry in entries:
        same.setdefault(entry.text, deque()).append(entry)
    order = [same[text].popleft() if same.get(text) else None for text in texts]
    gone = [entry for entry in entries if entry in same[entry.text]]
    new = [number for number, entry in enumerate(order) if entry is None]
    pairs = _alike(gone, [texts[number] for number in new])
    before: list[MemoryEntry | None] = [None] * len(texts)
    for place, number in enumerate(new):
        before[number] = pairs.get(place)
    return MemoryEdit(order=tuple(order), before=tuple(before), gone=tuple(gone))


def _alike(gone: Sequence[MemoryEntry], texts: Sequence[str]) -> dict[int, MemoryEntry]:
    """Pair removed entries with new texts, most similar pair first; each is used once."""
    if len(gone) > COMPARED_MAX or len(texts) > COMPARED_MAX:
        return {}
    scored = [
        (likeness(entry.text, text), -n, -m)
        for n, entry in enumerate(gone)
        for m, text in enumerate(texts)
        if _could_be(entry.text, text)
    ]
    pairs: dict[int, MemoryEntry] = {}
    taken: set[int] = set()
    for ratio, n, m in sorted(scored, reverse=True):
        if ratio >= ALIKE and -m not in pairs and -n not in taken:
            pairs[-m] = gone[-n]
            taken.add(-n)
    return pairs


def _could_be(one: str, other: str) -> bool:
    """Return False if the lengths alone rule the pair out; comparing texts is slow."""
    shorter, longer = sorted((len(one), len(other)))
    return longer > 0 and 2 * shorter / (shorter + longer) >= ALIKE and longer <= 4_000
