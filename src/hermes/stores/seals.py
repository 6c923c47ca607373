"""The chain that an audit log is. Pure.

Each entry is sealed with a key that no tool can read, over the seal before it, so that nothing can
be changed, taken out or put in unseen.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from hermes.core.audit import START as START
from hermes.core.audit import Entry, Head, Sealed, entry

CHECKPOINT = "checkpoint"


def seal(key: bytes, before: bytes, chain: str, seq: int, entry: Entry) -> bytes:
    place = msgspec.json.encode([chain, seq, entry.kind, entry.at])
    return hmac.digest(key, before + len(place).to_bytes(4, "big") + place + entry.body, "sha256")


class Cut(Struct, frozen=True, kw_only=True):
    """The beginning of a chain that was taken away: up to which entry, and that one's seal, over
    which the next one is sealed. `digest` is SHA-256 over all seals that went, and before them the
    digest of the cut before; `count` are all that ever went."""

    upto: int
    seal: str
    count: int
    digest: str


def sealed(
    key: bytes, chain: str, after: tuple[int, bytes], entries: Iterable[Entry]
) -> Iterator[Sealed]:
    """The next rows of a chain whose last one is `after`."""
    seq, before = after
    for each in entries:
        seq, before = seq + 1, seal(key, before, chain, seq + 1, each)
        yield Sealed(chain, seq, each, before)


def cut(last: Cut | None, upto: int, seals: Sequence[bytes]) -> Cut:
    """What a checkpoint has to say once these are gone, the last of them `upto`."""
    before = bytes.fromhex(last.digest) if last is not None else b""
    digest = hashlib.sha256(before + b"".join(seals)).hexdigest()
    count = len(seals) + (last.count if last is not None else 0)
    return Cut(upto=upto, seal=seals[-1].hex(), count=count, digest=digest)


def checkpoint(at: float, cuts: Mapping[str, Cut]) -> Entry:
    """Written where something is cut off. It tells of all chains that lack their beginning, so
    that those before it are not needed any more."""
    return entry(CHECKPOINT, at, cuts=cuts)


def cuts_of(entry: Entry) -> Mapping[str, Cut]:
    if entry.kind != CHECKPOINT:
        return {}
    return msgspec.json.decode(entry.body, type=_Checkpoint).cuts


class _Checkpoint(Struct, frozen=True):
    cuts: dict[str, Cut] = {}


class Check:
    """Looks through a record row by row, in order within each chain. `heads` are those that were
    noted when somebody looked last."""

    def __init__(self, key: bytes, heads: Mapping[str, Head]) -> None:
        self._key = key
        self._heads = heads
        self._first: dict[str, Sealed] = {}  # of the chains without their beginning
        self._last: dict[str, Sealed] = {}
        self._cuts: dict[str, dict[int, bytes]] = {}

    def see(self, row: Sealed) -> Iterator[str]:
        before = self._last.get(row.chain)
        seq, over = (before.seq, before.seal) if before is not None else (0, START)
        if before is None and row.seq > 1:
            self._first[row.chain] = row
            upto, end = _cuts(row.entry).get(row.chain, (0, b""))
            over = end if upto == row.seq - 1 else b""  # it may be a checkpoint of an older cut
        elif row.seq != seq + 1:
            yield f"{row.chain}: entries {seq + 1} to {row.seq - 1} are missing"
            over = b""
        if self._fits(row, over):
            for chain, (upto, end) in _cuts(row.entry).items():
                self._cuts.setdefault(chain, {})[upto] = end
        elif over:
            yield f"{row.chain}: entry {row.seq} was changed, or sealed with another key"
        head = self._heads.get(row.chain)
        if head is not None and head.seq == row.seq and head.seal != row.seal.hex():
            yield f"{row.chain}: entry {row.seq} is not the one that was noted"
        self._last[row.chain] = row

    def end(self) -> Iterator[str]:
        """A chain may begin later only where a sealed checkpoint says that it does."""
        for chain, row in self._first.items():
            over = self._cuts.get(chain, {}).get(row.seq - 1)
            if over is None:
                yield f"{chain}: entries 1 to {row.seq - 1} are missing"
            elif not self._fits(row, over):
                yield f"{chain}: entry {row.seq} was changed, or sealed with another key"
        for chain, head in self._heads.items():
            last = self._last.get(chain)
            found = last.seq if last is not None else max(self._cuts.get(chain, {0: b""}))
            if found < head.seq:
                yield f"{chain}: it ends at {found} and had {head.seq} entries"

    def _fits(self, row: Sealed, over: bytes) -> bool:
        made = seal(self._key, over, row.chain, row.seq, row.entry)
        return hmac.compare_digest(made, row.seal)


def faults(key: bytes, rows: Iterable[Sealed], heads: Mapping[str, Head]) -> Iterator[str]:
    """What is wrong with a record."""
    check = Check(key, heads)
    for row in rows:
        yield from check.see(row)
    yield from check.end()


def _cuts(entry: Entry) -> Mapping[str, tuple[int, bytes]]:
    """Of an entry that anybody may have written."""
    try:
        cuts = cuts_of(entry).items()
        return {chain: (each.upto, bytes.fromhex(each.seal)) for chain, each in cuts}
    except ValueError:  # no JSON, no checkpoint, no seal
        return {}
