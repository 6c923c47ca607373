"""The hash chain of the audit log. Pure.

Each entry is sealed with a key that no tool can read, over the seal before it, so that every
change, removal or insertion is detected.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct

from hermes.core.audit import FOREIGN, AuditEntry, AuditHead, Sealed, entry
from hermes.core.audit import START as START
from hermes.text.plurals import counted

CHECKPOINT = "checkpoint"
DIGEST_BYTES, KEY_ID_BYTES = 32, 4  # a seal of old has no id of its key


def seal(key: bytes, before: bytes, chain: str, seq: int, entry: AuditEntry) -> bytes:
    """Return the seal of an entry, followed by the id of the key. The id tells an entry of another
    node from one that was changed."""
    place = msgspec.json.encode([chain, seq, entry.kind, entry.at])
    over = before + len(place).to_bytes(4, "big") + place + entry.body
    return hmac.digest(key, over, "sha256") + key_id(key)


@lru_cache(maxsize=8)
def key_id(key: bytes) -> bytes:
    return hmac.digest(key, b"hermes audit key", "sha256")[:KEY_ID_BYTES]


class SealCut(Struct, frozen=True, kw_only=True):
    """The removed beginning of a chain: its last entry, and the seal of that entry, which the next
    one continues. `digest` is SHA-256 over all removed seals, preceded by the digest of the cut
    before; `count` is how many were ever removed."""

    upto: int
    seal: str
    count: int
    digest: str


def sealed(
    key: bytes, chain: str, after: tuple[int, bytes], entries: Iterable[AuditEntry]
) -> Iterator[Sealed]:
    """Yield the next rows of a chain whose last row is `after`."""
    seq, before = after
    for each in entries:
        seq, before = seq + 1, seal(key, before, chain, seq + 1, each)
        yield Sealed(chain, seq, each, before)


def cut(last: SealCut | None, upto: int, seals: Sequence[bytes]) -> SealCut:
    """Return the cut to record once these entries are removed, the last of them `upto`."""
    before = bytes.fromhex(last.digest) if last is not None else b""
    digest = hashlib.sha256(before + b"".join(seals)).hexdigest()
    count = len(seals) + (last.count if last is not None else 0)
    return SealCut(upto=upto, seal=seals[-1].hex(), count=count, digest=digest)


def checkpoint(at: float, cuts: Mapping[str, SealCut]) -> AuditEntry:
    """Return the entry that records the cuts. It covers all chains that lack their beginning, so
    earlier checkpoints are not needed any more."""
    return entry(CHECKPOINT, at, cuts=cuts)


def cuts_of(entry: AuditEntry) -> Mapping[str, SealCut]:
    if entry.kind != CHECKPOINT:
        return {}
    return msgspec.json.decode(entry.body, type=_Checkpoint).cuts


class _Checkpoint(Struct, frozen=True):
    cuts: dict[str, SealCut] = {}


class SealCheck:
    """Verify a log row by row, in order within each chain. `heads` are those noted at the last
    check."""

    def __init__(self, key: bytes, heads: Mapping[str, AuditHead]) -> None:
        self._key = key
        self._heads = heads
        self._first: dict[str, Sealed] = {}  # of the chains without their beginning
        self._last: dict[str, Sealed] = {}
        self._cuts: dict[str, dict[int, bytes]] = {}
        self._foreign: dict[str, list[int]] = {}  # entries that another key has sealed

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
            yield from self._misfit(row)
        head = self._heads.get(row.chain)
        if head is not None and head.seq == row.seq and head.seal != row.seal.hex():
            yield f"{row.chain}: entry {row.seq} is not the one that was noted"
        self._last[row.chain] = row

    def end(self) -> Iterator[str]:
        """Yield the faults that show at the end. A chain may begin later only where a sealed
        checkpoint says so."""
        for chain, row in self._first.items():
            over = self._cuts.get(chain, {}).get(row.seq - 1)
            if over is None:
                yield f"{chain}: entries 1 to {row.seq - 1} are missing"
            elif not self._fits(row, over):
                yield from self._misfit(row)
        for chain, found in self._foreign.items():
            count = f"{len(found)} entries" if len(found) > 1 else "1 entry"
            yield f"{chain}: {count} {FOREIGN} (the first is {found[0]})"
        for chain, head in self._heads.items():
            last = self._last.get(chain)
            end = last.seq if last is not None else max(self._cuts.get(chain, {0: b""}))
            if end < head.seq:
                yield f"{chain}: it ends at {end} and had {counted(head.seq, 'entry', 'entries')}"

    def _fits(self, row: Sealed, over: bytes) -> bool:
        made = seal(self._key, over, row.chain, row.seq, row.entry)
        old = len(row.seal) == DIGEST_BYTES
        return hmac.compare_digest(made[:DIGEST_BYTES] if old else made, row.seal)

    def _misfit(self, row: Sealed) -> Iterator[str]:
        sealed_by = row.seal[DIGEST_BYTES:]
        if sealed_by and sealed_by != key_id(self._key):
            self._foreign.setdefault(row.chain, []).append(row.seq)
        elif sealed_by:
            yield f"{row.chain}: entry {row.seq} was changed"
        else:
            yield f"{row.chain}: entry {row.seq} was changed, or sealed with another key"


def faults(key: bytes, rows: Iterable[Sealed], heads: Mapping[str, AuditHead]) -> Iterator[str]:
    """Yield what is wrong with a log."""
    check = SealCheck(key, heads)
    for row in rows:
        yield from check.see(row)
    yield from check.end()


def _cuts(entry: AuditEntry) -> Mapping[str, tuple[int, bytes]]:
    """Return the cuts of a checkpoint. The entry is not verified yet, so its body may be
    anything."""
    try:
        cuts = cuts_of(entry).items()
        return {chain: (each.upto, bytes.fromhex(each.seal)) for chain, each in cuts}
    except ValueError:  # no JSON, no checkpoint, no seal
        return {}
