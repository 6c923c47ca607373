"""Which entry is meant, and which entry a changed text was before. Pure."""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from hermes.core.errors import Rejected
from hermes.memory.text import clean
from hermes.views.memory import Entry
from hermes.views.rare import likeness

ALIKE = 0.6  # of the characters: the same entry, written anew
COMPARED_MAX = 100  # entries on each side; more were no edit but another file
SHOWN_CHARS = 60


def found(entries: Sequence[Entry], name: str) -> Entry:
    """By its id, its text, or words that occur in it alone. Raises Rejected with what there is."""
    wanted = clean(name).lower()
    by_id = [entry for entry in entries if entry.id == wanted]
    whole = [entry for entry in entries if entry.text.lower() == wanted]
    part = [entry for entry in entries if wanted and wanted in entry.text.lower()]
    fitting = by_id or whole or part
    if len(fitting) == 1 or (fitting and fitting == whole):
        return fitting[0]
    if fitting:
        raise Rejected(f"“{short(name)}” fits several entries: {listed(fitting)}. Give an id")
    there = f"There are: {listed(entries)}" if entries else "There are none"
    raise Rejected(f"no entry is “{short(name)}”. {there}")


def listed(entries: Sequence[Entry]) -> str:
    return "; ".join(f"{entry.id} “{short(entry.text)}”" for entry in entries)


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1].rstrip()}…"


class Edit(Struct, frozen=True, kw_only=True):
    """What a person did to a file. `order` has the entry that stayed, or None for a new one, for
    each text; `before` is what a new one supersedes."""

    order: tuple[Entry | None, ...]
    before: tuple[Entry | None, ...]
    gone: tuple[Entry, ...]


def edit_of(entries: Sequence[Entry], texts: Sequence[str]) -> Edit:
    same: dict[str, deque[Entry]] = {}
    for entry in entries:
        same.setdefault(entry.text, deque()).append(entry)
    order = [same[text].popleft() if same.get(text) else None for text in texts]
    gone = [entry for entry in entries if entry in same[entry.text]]
    new = [number for number, entry in enumerate(order) if entry is None]
    pairs = _alike(gone, [texts[number] for number in new])
    before: list[Entry | None] = [None] * len(texts)
    for place, number in enumerate(new):
        before[number] = pairs.get(place)
    return Edit(order=tuple(order), before=tuple(before), gone=tuple(gone))


def _alike(gone: Sequence[Entry], texts: Sequence[str]) -> dict[int, Entry]:
    """The most alike first; each entry and each text only once."""
    if len(gone) > COMPARED_MAX or len(texts) > COMPARED_MAX:
        return {}
    scored = [
        (likeness(entry.text, text), -n, -m)
        for n, entry in enumerate(gone)
        for m, text in enumerate(texts)
        if _could_be(entry.text, text)
    ]
    pairs: dict[int, Entry] = {}
    taken: set[int] = set()
    for ratio, n, m in sorted(scored, reverse=True):
        if ratio >= ALIKE and -m not in pairs and -n not in taken:
            pairs[-m] = gone[-n]
            taken.add(-n)
    return pairs


def _could_be(one: str, other: str) -> bool:
    """A cheap upper bound of the likeness, by length."""
    shorter, longer = sorted((len(one), len(other)))
    return longer > 0 and 2 * shorter / (shorter + longer) >= ALIKE and longer <= 4_000
