"""What an owner can be shown of what was done, and that nobody has touched that record since.

Entries are written in the commit of what they tell of. Each is sealed with a key that no tool can
read, over the seal before it, so that nothing can be changed, taken out or put in unseen.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from hermes.core import events as e
from hermes.core.grants import Grant
from hermes.core.ids import CallId
from hermes.core.messages import Outcome
from hermes.core.session import Asking, Session, Track

ARGUMENTS_CHARS_MAX = 2_000
START = bytes(32)  # what the first entry of a chain is sealed over
CHECKPOINT = "checkpoint"


class Entry(Struct, frozen=True):
    """`body` is JSON with sorted keys."""

    kind: str
    at: float
    body: bytes


class Sealed(Struct, frozen=True):
    """An entry in its place. A store may keep several chains, one for each node."""

    chain: str
    seq: int
    entry: Entry
    seal: bytes


def entry(kind: str, at: float, **body: object) -> Entry:
    said = {name: value for name, value in body.items() if value not in ("", None, ())}
    return Entry(kind, at, msgspec.json.encode(said, order="sorted"))


def seal(key: bytes, before: bytes, chain: str, seq: int, entry: Entry) -> bytes:
    place = msgspec.json.encode([chain, seq, entry.kind, entry.at])
    return hmac.digest(key, before + len(place).to_bytes(4, "big") + place + entry.body, "sha256")


class Head(Struct, frozen=True):
    """Where a chain ended when somebody looked: its last entry, and that one's seal."""

    seq: int = 0
    seal: str = START.hex()


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
            _, over = _cuts(row.entry).get(row.chain, (0, b""))
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


def entries_of(before: Session, event: e.Event) -> Iterator[Entry]:
    """What an event does that an owner may want to look up."""
    match event:
        case e.QuestionAsked(at=at, id=id_, why=why, digest=digest):
            yield _of_call(before, "asked", event.call, at, question=id_, why=why, digest=digest)
        case e.QuestionAnswered(at=at, granted=granted, by=by):
            kind = "approved" if granted else "refused" if by else "expired"
            yield _of_call(before, kind, event.call, at, question=_question(before), by=by)
            if event.grant is not None:
                yield granted_entry(event.grant, at, by)
        case e.CallStarted(at=at, box=box, effect=effect):
            yield _of_call(before, "started", event.call, at, box=box, effect=effect.value)
        case e.CallEnded(at=at, outcome=Outcome.DENIED, text=text):
            yield _of_call(before, "denied", event.call, at, why=text)
        case e.CallEnded(at=at, outcome=outcome):
            yield entry("ended", at, session=before.key, call=event.call, outcome=outcome.value)
        case e.TurnInterrupted(at=at, turn=turn, why="revoked"):
            yield entry("sent_away", at, session=before.key, turn=turn)
        case e.HomeSet(at=at, address=address):
            where = f"{address.platform}:{address.chat}"
            yield entry("home", at, session=before.key, where=where)
        case _:
            return


def granted_entry(grant: Grant, at: float, by: str) -> Entry:
    return entry(
        "granted",
        at,
        grant=grant.id,
        tool=grant.tool,
        arguments=grant.arguments[:ARGUMENTS_CHARS_MAX],
        expires_at=grant.expires_at,
        by=by,
    )


def _of_call(session: Session, kind: str, call: CallId, at: float, **more: object) -> Entry:
    """Who, from where, what, and what had been read by then."""
    turn, track = session.turn, _track(session, call)
    arguments = track.call.arguments if track is not None else ""
    return entry(
        kind,
        at,
        session=session.key,
        call=call,
        who=f"{turn.address.platform}:{turn.sender}" if turn is not None else "",
        origin=turn.origin if turn is not None else "",
        tool=track.call.tool if track is not None else "",
        arguments=arguments[:ARGUMENTS_CHARS_MAX],
        arguments_sha256=hashlib.sha256(arguments.encode()).hexdigest(),
        labels=session.view.labels,
        approval=track.question if track is not None and track.approved else "",
        **more,
    )


def _track(session: Session, call: CallId) -> Track | None:
    tracks: Sequence[Track] = session.turn.tracks if session.turn is not None else ()
    return next((track for track in tracks if track.call.id == call), None)


def _question(session: Session) -> str:
    return session.phase.question if isinstance(session.phase, Asking) else ""
