"""The history of all memories: append-only records, and the state after replaying them.

`MemoryLedger` only ever grows by records; none is removed. Pure.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.ports.memory import TARGETS, MemoryEntry, MemoryProposal, MemoryVersion, Target


class Rejection(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="rejection.1"):
    """The person rejected a proposal."""

    proposal: str
    at: float
    call: str = ""


class MemoryUse(Struct, frozen=True, kw_only=True, tag="use.1"):
    """Entries were useful in a turn."""

    ids: tuple[str, ...]
    at: float


Record = MemoryVersion | MemoryProposal | Rejection | MemoryUse
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


def record_of(line: bytes) -> Record | None:
    """Return the record in a line of the history. Return None for a line of unknown shape, which is
    skipped."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


class MemoryLedger:
    """The state after replaying all records."""

    def __init__(self) -> None:
        self.known: dict[str, MemoryEntry] = {}  # every entry that ever existed
        self.order: dict[Target, tuple[str, ...]] = dict.fromkeys(TARGETS, ())
        self.versions: list[MemoryVersion] = []
        self.latest: dict[Target, MemoryVersion] = {}
        self.proposals: dict[str, MemoryProposal] = {}  # still waiting
        self.past_proposals: dict[str, MemoryProposal] = {}
        self.approved: dict[str, int] = {}
        self.calls: dict[str, MemoryVersion | MemoryProposal] = {}
        self.undone: set[int] = set()
        self.torn: set[Target] = set()  # files with an entry whose record is lost
        self._numbered: dict[int, MemoryVersion] = {}
        self._orders: dict[int, tuple[str, ...]] = {}  # before each version
        self._proposed = 0
        self._made = 0

    def entries(self, target: Target) -> tuple[MemoryEntry, ...]:
        return tuple(self.known[name] for name in self.order[target])

    def digest(self, target: Target, nothing: str) -> str:
        """Return the digest of the file that the history expects; `nothing` is that of no file."""
        return self.latest[target].after if target in self.latest else nothing

    def order_before(self, number: int) -> tuple[str, ...]:
        return self._orders[number]

    def next_ids(self, count: int) -> tuple[str, ...]:
        return tuple(f"e{self._made + n}" for n in range(1, count + 1))

    @property
    def next_number(self) -> int:
        return self.versions[-1].number + 1 if self.versions else 1

    @property
    def next_proposal(self) -> str:
        return f"p{self._proposed + 1}"

    def version(self, number: int) -> MemoryVersion | None:
        return self._numbered.get(number)

    def add(self, record: Record) -> None:
        match record:
            case MemoryVersion():
                self._changed(record)
            case MemoryProposal():
                self._proposed += 1
                self.proposals[record.id] = self.past_proposals[record.id] = record
                if record.by.call:
                    self.calls[record.by.call] = record
            case Rejection(proposal=name):
                self.proposals.pop(name, None)
            case MemoryUse(ids=ids, at=at):
                for name in ids:
                    if name in self.known:
                        self.known[name] = replace(self.known[name], used=at)

    def _changed(self, version: MemoryVersion) -> None:
        if version.number < self.next_number:
            return  # a line that was copied by hand; the first one counts
        for entry in version.added:
            self._made = max(self._made, _number(entry.id))
            self.known[entry.id] = entry
        whole = all(name in self.known for name in version.order)
        (self.torn.discard if whole else self.torn.add)(version.target)
        self._orders[version.number] = self.order[version.target]
        self.order[version.target] = tuple(name for name in version.order if name in self.known)
        self.versions.append(version)
        self._numbered[version.number] = version
        self.latest[version.target] = version
        if version.by.call:
            self.calls[version.by.call] = version
        if version.proposal:
            self.proposals.pop(version.proposal, None)
            self.approved[version.proposal] = version.number
        if version.undoes:
            self._took_back(version.undoes)

    def _took_back(self, number: int) -> None:
        """Mark a version as undone. An undo of an undo brings the change back."""
        self.undone.add(number)
        undone = self.version(number)
        if undone is not None and undone.undoes:
            self.undone.discard(undone.undoes)


def _number(name: str) -> int:
    return int(name[1:]) if name[1:].isdecimal() else 0
