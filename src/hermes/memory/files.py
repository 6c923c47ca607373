"""Store memories in plain Markdown files that a person may edit at any time, with a history."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from hermes.core.errors import Rejected, StoreBusy, StoreFailed
from hermes.core.ports import PromptPart
from hermes.memory.blocks import blocks_of, entries_of
from hermes.memory.ledger import MemoryLedger, MemoryUse, Rejection
from hermes.memory.place import NOTHING, MemoryFolder, digest_of
from hermes.memory.rules import cleaned, files, size_of, why_not_now
from hermes.memory.snapshot import parts
from hermes.memory.versions import Next, by_hand, changed, decoded, superseded, undone
from hermes.ports.memory import (
    TARGETS,
    By,
    Fill,
    MemoryChange,
    MemoryEntry,
    MemoryProposal,
    MemoryVersion,
    Same,
    Target,
)
from hermes.text.similar import changes

TRIES_MAX = 5  # when a person saves the file again and again while it is being changed
USE_STEP_S = 86_400.0  # "last used" is kept to the day, so that the history stays small
PERSON_CHARS_MAX = 2_000
PROPOSALS_MAX = 200  # that wait; then no more are taken, and that is said
NO_NEWLINE = "\\ No newline at end of file"
NAMES = files()


class FileMemories:
    """Implement `Memories` on files."""

    def __init__(
        self, folder: Path, *, memory_chars: int, user_chars: int, clock: Callable[[], float]
    ) -> None:
        self._folder = MemoryFolder(folder)
        self._most: Mapping[Target, int] = {
            "memory": memory_chars,
            "user": user_chars,
            "person": PERSON_CHARS_MAX,
        }
        self._clock = clock

    def entries(self, target: Target) -> Sequence[MemoryEntry]:
        with self._open() as ledger:
            return ledger.entries(target)

    def fill(self, target: Target) -> Fill:
        return self._fill(target, self.entries(target))

    def place(self, target: Target) -> str:
        return str(self._folder.path(NAMES[target][0]))

    def versions(self, *, limit: int, target: Target | None = None) -> Sequence[MemoryVersion]:
        with self._open() as ledger:
            return [v for v in reversed(ledger.versions) if target in (None, v.target)][:limit]

    def proposals(self) -> Sequence[MemoryProposal]:
        with self._open() as ledger:
            return tuple(ledger.proposals.values())

    def diff(self, number: int) -> str:
        with self._open() as ledger:
            version = _version(ledger, number)
            before, after = (self._folder.kept(d) or b"" for d in (version.before, version.after))
        name = NAMES[version.target][0]
        sides = (f"{name}, before version {number}", f"{name}, version {number}")
        return "\n".join(changes(_shown(before), _shown(after), sides))

    def change(self, change: MemoryChange, by: By) -> MemoryVersion | MemoryProposal | Same:
        change = cleaned(change)
        with self._open(makes=True) as ledger:
            earlier = ledger.calls.get(by.call)
            if earlier is not None:
                return earlier
            if (same := _same(ledger, change)) is not None:
                return Same(same)
            why = self._why_not_now(ledger, change, by)
            if why:
                return self._proposed(ledger, change, by, why)
            return self._apply(ledger, change, by)

    def approve(self, name: str, by: By) -> MemoryVersion | Same:
        """Apply a waiting proposal. Text from untrusted content is trusted as `approved`
        afterwards; the entry still names the turn that it came from."""
        with self._open() as ledger:
            if name in ledger.approved:
                return _version(ledger, ledger.approved[name])
            proposal = _waiting(ledger, name)
            if (same := _same(ledger, proposal.change)) is not None:
                self._folder.record(Rejection(proposal=name, at=self._clock(), call=by.call))
                return Same(same)
            source = proposal.by
            trusted = replace(
                source, trust="approved" if source.trust == "untrusted" else "trusted"
            )
            return self._apply(ledger, proposal.change, trusted, proposal=name)

    def reject(self, name: str, by: By) -> MemoryProposal:
        with self._open() as ledger:
            if name in ledger.approved:
                raise Rejected(f"{name} was approved. Undo version {ledger.approved[name]}")
            if name not in ledger.proposals and name in ledger.past_proposals:
                return ledger.past_proposals[name]
            proposal = _waiting(ledger, name)
            self._folder.record(Rejection(proposal=name, at=self._clock(), call=by.call))
            return proposal

    def undo(self, number: int | None, by: By) -> MemoryVersion:
        with self._open() as ledger:
            earlier = ledger.calls.get(by.call)
            if isinstance(earlier, MemoryVersion):
                return earlier
            version = _to_undo(ledger, number)

            def step(content: bytes) -> Next:
                latest = ledger.latest[version.target].number == version.number
                before = self._folder.kept(version.before) if latest else None
                now = self._clock()
                return undone(ledger, content, version, by=by, now=now, before=before)

            return self._write(ledger, version.target, step)

    def used(self, ids: Sequence[str]) -> None:
        now = self._clock()
        with self._open() as ledger:
            known = [ledger.known[name] for name in ids if name in ledger.known]
            stale = tuple(entry.id for entry in known if now - entry.used >= USE_STEP_S)
            if stale:
                self._folder.record(MemoryUse(ids=stale, at=now))

    def snapshot(self) -> tuple[PromptPart, ...]:
        try:
            with self._open() as ledger:
                entries = {target: ledger.entries(target) for target in TARGETS}
        except StoreFailed:  # a disk that takes no lock can perhaps be read
            entries = {target: _unrecorded(self._folder, target) for target in TARGETS}
        return parts(entries, self._most)

    # Every method below needs the lock.

    @contextmanager
    def _open(self, *, makes: bool = False) -> Iterator[MemoryLedger]:
        """Lock the folder and yield its ledger. Only `makes` creates a missing folder, so that
        reading leaves the disk as it is."""
        if not makes and not self._folder.exists():
            yield MemoryLedger()
            return
        with self._folder.locked() as ledger:
            for target in TARGETS:
                self._look(ledger, target)
            yield ledger

    def _look(self, ledger: MemoryLedger, target: Target) -> None:
        """Repair what a crash interrupted, then record a person's edit of the file as a version."""
        last, name = ledger.latest.get(target), NAMES[target][0]
        before, after = (last.before, last.after) if last is not None else (NOTHING, NOTHING)
        self._folder.heal(name, before, after)
        content = self._folder.read(name)
        if digest_of(content) != after or target in ledger.torn:
            self._folder.keep(content)
            self._folder.record(by_hand(ledger, target, content, self._clock()))

    def _why_not_now(self, ledger: MemoryLedger, change: MemoryChange, by: By) -> str:
        entries, old = ledger.entries(change.target), superseded(ledger, change)
        rest = [entry.text for entry in entries if entry not in old]
        after = size_of([*rest, *(claim.text for claim in change.new)])
        fill = self._fill(change.target, entries)
        return why_not_now(change, by, old=old, fill=fill, after=after)

    def _proposed(
        self, ledger: MemoryLedger, change: MemoryChange, by: By, why: str
    ) -> MemoryProposal:
        old = superseded(ledger, change)
        if change.old:  # by their ids: words may fit another entry by then
            change = replace(change, old=tuple(entry.id for entry in old))
        for waiting in ledger.proposals.values():
            if waiting.change == change:
                return waiting
        if len(ledger.proposals) >= PROPOSALS_MAX:
            raise Rejected(f"{PROPOSALS_MAX} proposals are waiting for the person already")
        proposal = MemoryProposal(
            id=ledger.next_proposal, at=self._clock(), why=why, by=by, change=change, old=old
        )
        self._folder.record(proposal)
        return proposal

    def _apply(
        self, ledger: MemoryLedger, change: MemoryChange, by: By, proposal: str = ""
    ) -> MemoryVersion:
        def step(content: bytes) -> Next:
            now = self._clock()
            return changed(ledger, content, change, by, now=now, proposal=proposal)

        return self._write(ledger, change.target, step)

    def _write(
        self, ledger: MemoryLedger, target: Target, step: Callable[[bytes], Next]
    ) -> MemoryVersion:
        """Write a version made by `step`. If a person saves the file meanwhile, record that edit
        first and apply the change to the new text."""
        name = NAMES[target][0]
        for _ in range(TRIES_MAX):
            version, content = step(self._folder.read(name))
            if version.before == ledger.digest(target, NOTHING):
                self._folder.keep(content)
                self._folder.prepare(name, content)
                self._folder.record(version)
                if self._folder.swap(name, version.before):
                    return version
            self._look(ledger, target)
        raise StoreBusy(f"{name} is being changed by another program. Try again")

    def _fill(self, target: Target, entries: Sequence[MemoryEntry]) -> Fill:
        return Fill(chars=size_of([entry.text for entry in entries]), most=self._most[target])


def _unrecorded(folder: MemoryFolder, target: Target) -> tuple[MemoryEntry, ...]:
    """Return the entries of a file as it is on disk, without their history."""
    try:
        content = folder.read(NAMES[target][0])
    except StoreFailed:
        return ()
    numbered = enumerate(entries_of(blocks_of(decoded(content))), 1)
    return tuple(MemoryEntry(id=f"n{n}", target=target, text=t, created=0.0) for n, t in numbered)


def _same(ledger: MemoryLedger, change: MemoryChange) -> MemoryEntry | None:
    """Return the existing entry with the text that `change` would add, or None."""
    if change.action != "add":
        return None
    text = change.new[0].text.lower()
    there = (entry for entry in ledger.entries(change.target) if entry.text.lower() == text)
    return next(there, None)


def _version(ledger: MemoryLedger, number: int) -> MemoryVersion:
    version = ledger.version(number)
    if version is None:
        raise Rejected(f"there is no version {number}")
    return version


def _waiting(ledger: MemoryLedger, name: str) -> MemoryProposal:
    proposal = ledger.proposals.get(name)
    if proposal is None:
        known = ", ".join(ledger.proposals) or "none"
        raise Rejected(f"no proposal “{name}” waits. Waiting: {known}")
    return proposal


def _to_undo(ledger: MemoryLedger, number: int | None) -> MemoryVersion:
    if number is not None:
        version = _version(ledger, number)
        if number in ledger.undone:
            raise Rejected(f"version {number} is already undone")
        return version
    for version in reversed(ledger.versions):
        if not version.undoes and version.number not in ledger.undone:
            return version
    raise Rejected("there is nothing to undo")


def _shown(content: bytes) -> list[str]:
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, last, NO_NEWLINE] if last else lines
