"""What the agent would like to keep: a tree under its digest and a note that asks for a yes.

A proposal is named by the call that made it, so making it again is making it once. Only skills
that the agent wrote are changed by it; of all others it makes a copy under a name of its own.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.skills.compare import difference
from hermes.skills.pins import Lock, Pins, Version, moved, named_in
from hermes.skills.scan import hidden_in, scanned
from hermes.skills.sources import Sources
from hermes.skills.tree import Tree, checked, form_of
from hermes.views.files import whole_file
from hermes.views.skills import Finding, Proposal

FOLDER = ".proposals"
ID_CHARS = 10
WAITING_MAX = 50
DECIDED_MAX = 200  # notes of what was decided that are kept
WHY_CHARS_MAX = 500


class Proposals:
    """See `SkillProposals`."""

    def __init__(
        self, folder: Path, pins: Pins, sources: Sources, *, clock: Callable[[], float]
    ) -> None:
        self._folder = folder / FOLDER
        self._pins = pins
        self._sources = sources
        self._clock = clock

    def waiting(self) -> Sequence[Proposal]:
        return [proposal for proposal in self._all() if proposal.state == "waiting"]

    def found(self, named: str) -> Proposal:
        every = self._all()
        exact = [p for p in every if p.id == named]
        open_ = [p for p in every if p.name == named and p.state == "waiting"]
        if not (exact or open_):
            raise Rejected(f"there is no proposal {named[:64]}. See: hermes skills proposals")
        return (exact or open_)[0]

    def difference(self, proposal: Proposal) -> str:
        before = self._pins.tree(proposal.name, proposal.base) if proposal.base else {}
        return difference(before, self._pins.tree(proposal.name, proposal.digest))

    def advice(self, proposal: Proposal) -> Sequence[Finding]:
        return scanned(self._pins.tree(proposal.name, proposal.digest))

    def approve(self, named: str) -> Proposal:
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
                        "reject it and let the agent propose it anew"
                    )
                self._pins.tree(proposal.name, proposal.digest)
                at, why = self._clock(), f"proposal {proposal.id}: {proposal.why}"
                version = Version(sha256=proposal.digest, at=at, why=why, origin="agent")
                self._pins.write(lock.pinned("agent", proposal.name, moved(pin, version)))
            applied = replace(proposal, state="applied")
            self._write(applied)
        return applied

    def reject(self, named: str) -> Proposal:
        proposal = self.found(named)
        with self._pins.changing() as lock:
            proposal = self._again(proposal)
            if proposal.state == "applied":
                raise Rejected(
                    f"{proposal.id} is in force. Run: hermes skills undo {proposal.name}"
                )
            rejected = replace(proposal, state="rejected")
            self._write(rejected)
            self._sweep(lock)
        return rejected

    def made(self, call: str) -> Proposal | None:
        """What this call has proposed already."""
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
    ) -> Proposal:
        """Durable when it returns. One that waits for the same skill is replaced by this one."""
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
                raise Rejected(f"{WAITING_MAX} proposals wait already; the owner should look first")
            pin = lock.agent.get(form.name)
            proposal = Proposal(
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

    def current(self, name: str, lock: Lock) -> Tree | None:
        """What the agent's next change begins with: its proposal, else its skill."""
        for proposal in self.waiting():
            if proposal.name == name:
                return self._pins.tree(name, proposal.digest)
        pin = lock.agent.get(name)
        return self._pins.tree(name, pin.now.sha256) if pin and pin.now.sha256 else None

    def lock(self) -> Lock:
        return self._pins.read()

    def original(self, name: str, lock: Lock) -> Tree | None:
        """A skill that the agent may only copy."""
        place = self._sources.first(lock).get(name)
        return self._sources.loaded(place).tree if place is not None else None

    def _again(self, proposal: Proposal) -> Proposal:
        """As it is now that nobody else can change it."""
        return self._read(self._folder / f"{proposal.id}.json") or proposal

    def _all(self) -> list[Proposal]:
        """The latest first."""
        if not self._folder.is_dir():
            return []
        read = (self._read(path) for path in self._folder.glob("*.json"))
        found = [proposal for proposal in read if proposal is not None]
        return sorted(found, key=lambda proposal: (-proposal.at, proposal.id))

    def _read(self, path: Path) -> Proposal | None:
        try:
            proposal = msgspec.json.decode(path.read_bytes(), type=Proposal)
        except (OSError, msgspec.MsgspecError):
            return None
        return proposal if proposal.id == path.stem else None

    def _write(self, proposal: Proposal) -> None:
        whole_file(self._folder / f"{proposal.id}.json", msgspec.json.encode(proposal) + b"\n")

    def _sweep(self, lock: Lock) -> None:
        every = self._all()
        decided = [proposal for proposal in every if proposal.state != "waiting"]
        for proposal in decided[DECIDED_MAX:]:
            (self._folder / f"{proposal.id}.json").unlink(missing_ok=True)
        wanted = {p.digest for p in every if p.state == "waiting"}
        wanted |= {p.base for p in every if p.state == "waiting"}
        self._pins.sweep(named_in(lock) | wanted)


def id_of(call: str) -> str:
    return hashlib.sha256(call.encode()).hexdigest()[:ID_CHARS]
