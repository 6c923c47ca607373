"""Skill changes that the agent proposes: a tree under its digest, and a note for the owner.

A proposal is named by the call that made it, so repeating the call changes nothing. The agent may
change only skills that it wrote; of any other it proposes a copy under a new name.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.ports.skills import ScanFinding, SkillProposal
from hermes.skills.compare import difference
from hermes.skills.pins import PinFile, Pins, SkillVersion, moved, named_in
from hermes.skills.scan import hidden_in, scanned
from hermes.skills.sources import SkillSources
from hermes.skills.tree import Tree, checked, form_of
from hermes.views.files import whole_file

FOLDER = ".proposals"
ID_CHARS = 10
WAITING_MAX = 50
DECIDED_MAX = 200  # decided proposals to keep
WHY_CHARS_MAX = 500


class ProposalFolder:
    """Implement `SkillProposals` in a folder."""

    def __init__(
        self, folder: Path, pins: Pins, sources: SkillSources, *, clock: Callable[[], float]
    ) -> None:
        self._folder = folder / FOLDER
        self._pins = pins
        self._sources = sources
        self._clock = clock

    def waiting(self) -> Sequence[SkillProposal]:
        return [proposal for proposal in self._all() if proposal.state == "waiting"]

    def found(self, named: str) -> SkillProposal:
        every = self._all()
        exact = [p for p in every if p.id == named]
        open_ = [p for p in every if p.name == named and p.state == "waiting"]
        if not (exact or open_):
            raise Rejected(f"there is no proposal {named[:64]}. See: hermes skills proposals")
        return (exact or open_)[0]

    def difference(self, proposal: SkillProposal) -> str:
        before = self._pins.tree(proposal.name, proposal.base) if proposal.base else {}
        return difference(before, self._pins.tree(proposal.name, proposal.digest))

    def advice(self, proposal: SkillProposal) -> Sequence[ScanFinding]:
        return scanned(self._pins.tree(proposal.name, proposal.digest))

    def approve(self, named: str) -> SkillProposal:
        proposal = self.found(named)
        with self._pins.changing() as lock:
            proposal = self._again(proposal)
            pin = lock.agent.get(proposal.name)
            now = pin.now.sha256 if pin is not None else ""
            if proposal.state == "rejected":
                raise Rejected(f"{proposal.id} was rejected already")
            if now != proposal.digest:
                if now != proposal.base or proposal.state == "applied":
                    raise Rejected(
                        f"{proposal.name} was changed after {proposal.id} was written; "
                        "reject it and let the agent propose it again"
                    )
                self._pins.tree(proposal.name, proposal.digest)
                at, why = self._clock(), f"proposal {proposal.id}: {proposal.why}"
                version = SkillVersion(sha256=proposal.digest, at=at, why=why, origin="agent")
                self._pins.write(lock.pinned("agent", proposal.name, moved(pin, version)))
            applied = replace(proposal, state="applied")
            self._write(applied)
        return applied

    def reject(self, named: str) -> SkillProposal:
        proposal = self.found(named)
        with self._pins.changing() as lock:
            proposal = self._again(proposal)
            if proposal.state == "applied":
                raise Rejected(f"{proposal.id} is active. Run: hermes skills undo {proposal.name}")
            rejected = replace(proposal, state="rejected")
            self._write(rejected)
            self._sweep(lock)
        return rejected

    def made(self, call: str) -> SkillProposal | None:
        """Return the proposal that this call made already, or None."""
        return self._read(self._folder / f"{id_of(call)}.json")

    def make(
        self,
        tree: Tree,
        *,
        call: str,
        action: Literal["create", "improve", "copy"],
        why: str,
        session: str,
        untrusted: bool,
    ) -> SkillProposal:
        """Store a proposal; durable on return. It replaces a waiting proposal for the same
        skill."""
        done = self.made(call)
        if done is not None:
            return done
        form = form_of(checked(tree))
        hidden = hidden_in(tree)
        if hidden:
            raise Rejected(f"{hidden[0].file} has text that cannot be seen: {hidden[0].text}")
        with self._pins.changing() as lock:
            older = [p for p in self.waiting() if p.name == form.name]
            if len(self.waiting()) >= WAITING_MAX + len(older):
                raise Rejected(
                    f"{WAITING_MAX} proposals wait already; the owner should decide on them first"
                )
            pin = lock.agent.get(form.name)
            proposal = SkillProposal(
                id=id_of(call),
                name=form.name,
                action=action,
                why=" ".join(why.split())[:WHY_CHARS_MAX],
                at=self._clock(),
                digest=self._pins.keep(form.name, tree),
                base=pin.now.sha256 if pin is not None else "",
                session=session,
                untrusted=untrusted or any(p.untrusted for p in older),
            )
            self._write(proposal)
            for each in older:
                self._write(replace(each, state="rejected"))
            self._sweep(lock)
        return proposal

    def current(self, name: str, lock: PinFile) -> Tree | None:
        """Return the tree that the agent's next change starts from: its proposal, or its skill."""
        for proposal in self.waiting():
            if proposal.name == name:
                return self._pins.tree(name, proposal.digest)
        pin = lock.agent.get(name)
        return self._pins.tree(name, pin.now.sha256) if pin and pin.now.sha256 else None

    def lock(self) -> PinFile:
        return self._pins.read()

    def original(self, name: str, lock: PinFile) -> Tree | None:
        """Return a skill of another author, which the agent may only copy; None if there is
        none."""
        place = self._sources.first(lock).get(name)
        return self._sources.loaded(place).tree if place is not None else None

    def _again(self, proposal: SkillProposal) -> SkillProposal:
        """Read the proposal again under the lock, because another process may have changed it."""
        return self._read(self._folder / f"{proposal.id}.json") or proposal

    def _all(self) -> list[SkillProposal]:
        """Return all proposals, the latest first."""
        if not self._folder.is_dir():
            return []
        read = (self._read(path) for path in self._folder.glob("*.json"))
        found = [proposal for proposal in read if proposal is not None]
        return sorted(found, key=lambda proposal: (-proposal.at, proposal.id))

    def _read(self, path: Path) -> SkillProposal | None:
        try:
            proposal = msgspec.json.decode(path.read_bytes(), type=SkillProposal)
        except (OSError, msgspec.MsgspecError):
            return None
        return proposal if proposal.id == path.stem else None

    def _write(self, proposal: SkillProposal) -> None:
        whole_file(self._folder / f"{proposal.id}.json", msgspec.json.encode(proposal) + b"\n")

    def _sweep(self, lock: PinFile) -> None:
        every = self._all()
        decided = [proposal for proposal in every if proposal.state != "waiting"]
        for proposal in decided[DECIDED_MAX:]:
            (self._folder / f"{proposal.id}.json").unlink(missing_ok=True)
        wanted = {p.digest for p in every if p.state == "waiting"}
        wanted |= {p.base for p in every if p.state == "waiting"}
        self._pins.sweep(named_in(lock) | wanted)


def id_of(call: str) -> str:
    return hashlib.sha256(call.encode()).hexdigest()[:ID_CHARS]
