"""Install a skill: fetch into quarantine, normalise, digest, scan, show, and pin.

A candidate can be loaded only after the owner approved it. The approval is for a digest, so the
installed bytes are the bytes that were shown.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from hermes.core.errors import Rejected
from hermes.ports.skills import Candidate, SkillFile, SkillRow
from hermes.skills.compare import difference
from hermes.skills.fetch import Fetched, fetched, scratch_in
from hermes.skills.pins import Pins, SkillVersion, moved
from hermes.skills.remote import Remote
from hermes.skills.scan import hidden_in, scanned
from hermes.skills.sources import SkillSources
from hermes.skills.tree import Tree, digest_of, form_of, read_tree, remove_tree, write_tree

QUARANTINE = ".quarantine"
TICKET_BYTES = 8
FORGOTTEN_S = 24 * 3600.0  # a candidate this old was left by a crash


class SkillInstaller:
    """Implement `SkillIntake`."""

    def __init__(
        self,
        folder: Path,
        pins: Pins,
        sources: SkillSources,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        remote: Remote | None = None,
    ) -> None:
        self._quarantine = folder / QUARANTINE
        self._pins = pins
        self._sources = sources
        self._environ = environ
        self._clock = clock
        self._remote = remote or Remote()

    def fetch(self, origin: str, *, skill: str = "") -> Candidate:
        self._clear()
        ticket = os.urandom(TICKET_BYTES).hex()
        scratch = scratch_in(self._quarantine, ticket)
        try:
            got = fetched(
                origin,
                skill=skill,
                environ=self._environ,
                scratch=scratch,
                remote=self._remote,
            )
            candidate = self._candidate(got, ticket)
            write_tree(got.tree, scratch / candidate.name)
            remove_tree(scratch / "clone")
        except (Rejected, OSError, KeyboardInterrupt):
            with suppress(OSError):
                remove_tree(scratch)
            raise
        return candidate

    def again(self, name: str) -> Candidate:
        pin = self._pins.read().installed.get(name)
        if pin is None or not pin.now.sha256:
            raise Rejected(f"{name} is not installed. See: hermes skills list")
        origin, _, skill = pin.now.origin.partition("\n")
        candidate = self.fetch(origin, skill=skill or name)
        if candidate.name != name:
            self.discard(candidate)
            raise Rejected(f"the skill there is now called {candidate.name}; install that one")
        return candidate

    def install(self, candidate: Candidate) -> SkillRow:
        tree = read_tree(self._quarantine / candidate.ticket / candidate.name)
        if digest_of(tree) != candidate.digest:
            raise Rejected(
                f"{candidate.name} was changed in quarantine after it was shown. Fetch it again"
            )
        with self._pins.changing() as lock:
            digest = self._pins.keep(candidate.name, tree)
            version = SkillVersion(
                sha256=digest,
                at=self._clock(),
                why="updated" if candidate.before else "installed",
                origin=f"{candidate.origin}\n{candidate.name}",
            )
            pin = lock.installed.get(candidate.name)
            if pin is None or pin.now.sha256 != digest:
                pinned = lock.pinned("installed", candidate.name, moved(pin, version))
                self._pins.write(pinned)
        self.discard(candidate)
        return SkillRow(
            name=candidate.name,
            description=candidate.description,
            source="installed",
            state="hidden" if candidate.hides == "person" else "on",
            digest=digest,
        )

    def discard(self, candidate: Candidate) -> None:
        remove_tree(self._quarantine / candidate.ticket)

    def _clear(self) -> None:
        if self._quarantine.is_dir():
            for each in self._quarantine.iterdir():
                with suppress(OSError):
                    if each.lstat().st_mtime < self._clock() - FORGOTTEN_S:
                        remove_tree(each)

    def _candidate(self, got: Fetched, ticket: str) -> Candidate:
        form = form_of(got.tree)
        hidden = hidden_in(got.tree)
        if hidden:
            first = hidden[0]
            raise Rejected(
                f"{form.name} has text that cannot be seen ({first.file}, line {first.line}: "
                f"{first.text}). It is not installed; ask its author why"
            )
        lock = self._pins.read()
        pin = lock.installed.get(form.name)
        before = pin.now.sha256 if pin is not None else ""
        digest = digest_of(got.tree)
        other = self._sources.first(lock).get(form.name)
        return Candidate(
            name=form.name,
            description=form.description,
            license=form.license,
            compatibility=form.compatibility,
            allowed_tools=form.allowed_tools,
            files=tuple(SkillFile(path, len(got.tree[path])) for path in sorted(got.tree)),
            left_out=got.left_out,
            findings=scanned(got.tree),
            digest=digest,
            origin=got.origin,
            ticket=ticket,
            before=before,
            diff=difference(self._before(form.name, before), got.tree) if before else "",
            hides=other.source if other is not None and other.source != "installed" else None,
        )

    def _before(self, name: str, digest: str) -> Tree:
        with suppress(Rejected):
            return self._pins.tree(name, digest)
        return {}
