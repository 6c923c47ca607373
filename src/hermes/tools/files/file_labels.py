"""Which files hold text of strangers: labels by path and by digest, kept in a file of our home.

A label is written down before the file is, so a kill loses none. A command's changes are found
afterwards by their change times; until then every file that changed since the command began counts
as labelled. See docs/decisions/0020-labels-of-files.md.
"""

import hashlib
import posixpath
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.core.errors import StoreFailed, ToolFailed
from hermes.core.grants import is_beneath
from hermes.ports.sandbox import OPEN, Profile
from hermes.ports.workspace import Files, FileStatus
from hermes.tools.files.label_log import LabelLog

RECORDS_MAX: Final = 20_000  # of paths; more are put together into folders
CALLS_MAX: Final = 2_000  # whose output is remembered; the oldest go
SPARE_LINES: Final = 2_000  # that do not count any more, before the log is written again
DIGESTED_BYTES_MIN, DIGESTED_BYTES_MAX = 32, 4 * 1024 * 1024
EARLIER_NS: Final = 50_000_000  # by which a change time may lag behind the clock
EXISTING_MAX: Final = 200  # files that are looked for, to say that a folder holds labelled ones

Labels = tuple[str, ...]


class FileRecord(Struct, frozen=True, kw_only=True, tag="file", omit_defaults=True):
    """Without labels: known to be clean, as long as it has this digest."""

    path: str
    labels: Labels = ()
    digest: str = ""


class FolderRecord(Struct, frozen=True, kw_only=True, tag="folder"):
    """Everything below it."""

    path: str
    labels: Labels


class ContentRecord(Struct, frozen=True, kw_only=True, tag="content"):
    """These bytes, wherever they are."""

    digest: str
    labels: Labels


class RunRecord(Struct, frozen=True, kw_only=True, tag="began"):
    """What a command changes there from now on, and what it prints, has these labels."""

    call: str
    root: str
    at_ns: int
    labels: Labels


class RunEndRecord(Struct, frozen=True, kw_only=True, tag="settled"):
    """All that the command changed has been noted."""

    call: str


Record = FileRecord | FolderRecord | ContentRecord | RunRecord | RunEndRecord
_decode = msgspec.json.Decoder(Record).decode


class FileLabels:
    """Blocking: ask it from a thread. Without a folder it remembers for the process only.
    `disk` has the files that are labelled. `profile` is that of the box of commands: with a
    network, or without a box, any of them may bring strangers' text."""

    def __init__(
        self,
        folder: Path | None,
        disk: Files,
        clock_ns: Callable[[], int],
        *,
        profile: Profile = "write",
    ) -> None:
        self.open_box, self.boxed = profile in OPEN, profile != "host"
        self._log = LabelLog(folder)
        self._disk = disk
        self._clock_ns = clock_ns
        self._files: dict[str, FileRecord] = {}
        self._folders: dict[str, Labels] = {}
        self._digests: dict[str, Labels] = {}
        self._calls: dict[str, RunRecord] = {}
        self._open: dict[str, RunRecord] = {}
        self._lines = 0
        self._guard = threading.RLock()

    def of(self, path: str) -> Labels:
        """Of what is read from that file now."""
        real = self._disk.real(path)
        with self._guard:
            self._refresh()
            if not self._files and not self._folders and not self._open:
                return ()
            status, digest = self._look(real)
            found = set(self._noted(real, digest))
            for began in self._open.values():
                if status is not None and _is_since(began, real, status.changed_ns):
                    found.update(began.labels)
        return tuple(sorted(found))

    def _noted(self, real: str, digest: str) -> Labels:
        known = self._files.get(real)
        if known is not None and not known.labels and digest == known.digest:
            return ()
        folders = [labels for path, labels in self._folders.items() if is_beneath(real, path)]
        by_path = known.labels if known is not None else ()
        return together([by_path, self._digests.get(digest, ()), *folders])

    def below(self, folder: str) -> Labels:
        """Of all files that are in that folder now, together."""
        real = self._disk.real(folder)
        with self._guard:
            self._refresh()
            found: set[str] = set()
            inside = [each for path, each in self._files.items() if is_beneath(path, real)]
            looked = 0
            for each in inside:
                if set(each.labels) <= found:
                    continue
                looked += 1
                if looked > EXISTING_MAX or self._stands(each.path):
                    found.update(each.labels)
            for path, labels in self._folders.items():
                if is_beneath(real, path) or (is_beneath(path, real) and self._stands(path)):
                    found.update(labels)
            for began in self._open.values():
                if is_beneath(real, began.root) or is_beneath(began.root, real):
                    found.update(began.labels)
        return tuple(sorted(found))

    def of_output(self, call: str) -> Labels:
        """Of what that command has printed."""
        with self._guard:
            self._refresh()
            began = self._calls.get(call)
        return began.labels if began is not None else ()

    def write(self, path: str, content: bytes, labels: Labels) -> None:
        """Before these bytes are put there as a whole. Raises ToolFailed."""
        real = self._disk.real(path)
        if not labels and not self.of(real) and real not in self._files:
            return
        self._append([FileRecord(path=real, labels=labels, digest=_digest(content))])

    def change(self, path: str, labels: Labels) -> None:
        """After a part of that file was changed. What it held before stays labelled. Raises
        ToolFailed."""
        real = self._disk.real(path)
        both = tuple(sorted({*labels, *self.of(real)}))
        if both:
            self._append([FileRecord(path=real, labels=both, digest=self._look(real)[1])])

    def begin(self, call: str, root: str, labels: Labels) -> None:
        """Before a command starts. Raises ToolFailed: it must not start then."""
        if self.of_output(call):
            return
        at_ns = self._clock_ns() - EARLIER_NS
        self._append([RunRecord(call=call, root=self._disk.real(root), at_ns=at_ns, labels=labels)])

    def unsettled(self) -> tuple[str, ...]:
        """Commands whose changes are not noted yet."""
        with self._guard:
            self._refresh()
            return tuple(self._open)

    def settle(self, call: str) -> tuple[str, ...]:
        """The command is over: note what it changed. Returns what of that git obeys. Raises
        ToolFailed."""
        with self._guard:
            self._refresh()
            began = self._open.get(call)
        if began is None:
            return ()
        changed = self._disk.changed_since(began.root, began.at_ns)
        records: list[Record] = [FolderRecord(path=p, labels=began.labels) for p in changed.folders]
        for path in changed.files:
            both = tuple(sorted({*began.labels, *self._known(path)}))
            records.append(FileRecord(path=path, labels=both, digest=self._look(path)[1]))
        self._append([*records, RunEndRecord(call=call)])
        return changed.settings

    def _look(self, path: str) -> tuple[FileStatus | None, str]:
        """The state of a file, and the digest of a regular one."""
        try:
            status, content = self._disk.head(path, DIGESTED_BYTES_MAX)
        except OSError:
            return None, ""
        return status, _digest(content)

    def _stands(self, path: str) -> bool:
        return self._disk.status(path) is not None

    def _known(self, path: str) -> Labels:
        known = self._files.get(path)
        return known.labels if known is not None else ()

    # ── the log ─────────────────────────────────────────────────────────────────────────────────

    def _append(self, records: Sequence[Record]) -> None:
        try:
            with self._guard, self._log.locked():
                self._refresh()
                lines = b"".join(b"\n" + msgspec.json.encode(each) for each in records)
                self._log.append(lines + b"\n")
                for each in records:
                    self._fold(each)
                self._lines += len(records)
                self._tidy()
        except (OSError, StoreFailed) as failed:
            raise ToolFailed(
                f"The labels of files could not be written ({failed}). Nothing was done."
            ) from failed

    def _refresh(self) -> None:
        """Take in what has been written since the last look."""
        again, lines = self._log.news()
        if again:
            for each in (self._files, self._folders, self._digests, self._calls, self._open):
                each.clear()
            self._lines = 0
        for line in lines:
            self._lines += 1
            try:
                self._fold(_decode(line))
            except msgspec.MsgspecError:
                continue  # torn by a kill: what it was about has not been done

    def _fold(self, record: Record) -> None:
        match record:
            case FileRecord(path=path, labels=labels, digest=digest):
                self._files[path] = record
                if labels and digest:
                    self._fold(ContentRecord(digest=digest, labels=labels))
            case ContentRecord(digest=digest, labels=labels):
                both = tuple(sorted({*labels, *self._digests.pop(digest, ())}))
                self._digests[digest] = both
                while len(self._digests) > RECORDS_MAX:
                    del self._digests[next(iter(self._digests))]
            case FolderRecord(path=path, labels=labels):
                self._folders[path] = tuple(sorted({*labels, *self._folders.get(path, ())}))
                for inside in [each for each in self._files if is_beneath(each, path)]:
                    del self._files[inside]
            case RunRecord(call=call):
                self._calls[call] = self._open[call] = record
                while len(self._calls) > CALLS_MAX:
                    del self._calls[next(iter(self._calls))]
            case RunEndRecord(call=call):
                self._open.pop(call, None)

    def _tidy(self) -> None:
        """Keep both the records and the log bounded. Labels only get wider by it."""
        if len(self._files) > RECORDS_MAX:
            for path in [path for path in self._files if not self._stands(path)]:
                del self._files[path]
            while len(self._files) > RECORDS_MAX:
                self._widen()
        kept = len(self._files) + len(self._folders) + len(self._digests) + 2 * len(self._calls)
        if not self._log.is_kept or self._lines <= kept + SPARE_LINES:
            return
        self._log.rewrite(b"".join(msgspec.json.encode(r) + b"\n" for r in self._records()))
        self._lines = kept

    def _widen(self) -> None:
        """Label the folder with the most labelled files as a whole, in place of those files."""
        counts: dict[str, int] = {}
        for path in self._files:
            folder = posixpath.dirname(path)
            counts[folder] = counts.get(folder, 0) + 1
        fullest = max(counts, key=lambda folder: counts[folder])
        inside = [each for path, each in self._files.items() if is_beneath(path, fullest)]
        labels = tuple(sorted({label for each in inside for label in each.labels}))
        self._fold(FolderRecord(path=fullest, labels=labels))

    def _records(self) -> Iterator[Record]:
        """As few as say the same. Folders first: what is known of a file in one is newer."""
        for path, labels in self._folders.items():
            yield FolderRecord(path=path, labels=labels)
        by_file = {each.digest for each in self._files.values() if each.labels}
        yield from self._files.values()
        for digest, labels in self._digests.items():
            if digest not in by_file:
                yield ContentRecord(digest=digest, labels=labels)
        for call, began in self._calls.items():
            yield began
            if call not in self._open:
                yield RunEndRecord(call=call)


def together(labels: Iterable[Labels]) -> Labels:
    return tuple(sorted({label for each in labels for label in each}))


def _is_since(began: RunRecord, real: str, changed_ns: int) -> bool:
    return is_beneath(real, began.root) and changed_ns >= began.at_ns


def _digest(content: bytes) -> str:
    """Of the beginning. What is very short is the same in many files, and says little."""
    if len(content) < DIGESTED_BYTES_MIN:
        return ""
    return hashlib.sha256(content[:DIGESTED_BYTES_MAX]).hexdigest()
