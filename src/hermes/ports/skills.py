"""The port of skills: what people are shown, and what commands may ask for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

SkillSource = Literal["person", "installed", "agent", "builtin"]
SkillState = Literal["on", "disabled", "hidden", "refused"]


class ScanFinding(Struct, frozen=True, kw_only=True):
    """Something in a skill that its owner should check. A scan gives advice, never proof of
    safety."""

    rule: str
    file: str
    line: int
    text: str
    grave: bool = False


class SkillRow(Struct, frozen=True, kw_only=True):
    """One skill in a list. `hidden`: another skill of the same name takes precedence."""

    name: str
    description: str
    source: SkillSource
    state: SkillState
    digest: str = ""
    uses: int = 0
    last_used_at: float | None = None
    problem: str = ""


class SkillFile(Struct, frozen=True):
    path: str
    size: int


class SkillShown(Struct, frozen=True, kw_only=True):
    """One skill as a person or a model reads it."""

    row: SkillRow
    folder: str
    license: str
    compatibility: str
    metadata: Mapping[str, str]
    allowed_tools: tuple[str, ...]
    body: str
    files: tuple[SkillFile, ...]
    findings: tuple[ScanFinding, ...] = ()


class Candidate(Struct, frozen=True, kw_only=True):
    """A fetched skill in quarantine, until the owner approves exactly these bytes."""

    name: str
    description: str
    license: str
    compatibility: str
    allowed_tools: tuple[str, ...]
    files: tuple[SkillFile, ...]
    left_out: tuple[str, ...]
    findings: tuple[ScanFinding, ...]
    digest: str
    origin: str
    ticket: str  # its folder in quarantine
    before: str = ""  # digest of the installed version
    diff: str = ""
    hides: SkillSource | None = None  # a skill of that name that will be hidden by this one


class SkillProposal(Struct, frozen=True, kw_only=True):
    """A new or changed skill that the agent proposed; the owner has not answered yet."""

    id: str
    name: str
    action: Literal["create", "improve", "copy"]
    why: str
    at: float
    digest: str
    base: str = ""  # digest of the tree that it is based on; "" for a new skill
    session: str = ""
    untrusted: bool = False  # the conversation had read untrusted text
    state: Literal["waiting", "applied", "rejected"] = "waiting"


class Checked(Struct, frozen=True, kw_only=True):
    """The result of auditing one skill."""

    name: str
    source: SkillSource
    state: Literal["ok", "look", "tampered", "broken"]
    detail: str = ""
    findings: tuple[ScanFinding, ...] = ()


class SkillIntake(Protocol):
    """Install skills of other authors: fetch, inspect, then install."""

    def fetch(self, origin: str, *, skill: str = "") -> Candidate: ...

    def again(self, name: str) -> Candidate:
        """Fetch the current version of an installed skill from its origin."""

    def install(self, candidate: Candidate) -> SkillRow: ...

    def discard(self, candidate: Candidate) -> None: ...


class SkillProposals(Protocol):
    """The agent's proposed skills."""

    def waiting(self) -> Sequence[SkillProposal]: ...

    def found(self, named: str) -> SkillProposal:
        """Return the proposal with this id, or for the skill of this name."""

    def difference(self, proposal: SkillProposal) -> str: ...

    def advice(self, proposal: SkillProposal) -> Sequence[ScanFinding]: ...

    def approve(self, named: str) -> SkillProposal: ...

    def reject(self, named: str) -> SkillProposal: ...


class Skills(Protocol):
    """All skills of a home. Every method raises Rejected with a sentence that names the fix."""

    @property
    def intake(self) -> SkillIntake: ...

    @property
    def proposals(self) -> SkillProposals: ...

    def rows(self) -> Sequence[SkillRow]: ...

    def names(self) -> frozenset[str]:
        """Return the names of enabled skills; cheap, reads no files."""

    def shown(self, name: str) -> SkillShown: ...

    def text(self, name: str, file: str = "") -> str:
        """Return the instructions of a usable skill, or one of its files, for the model."""

    def read(self, name: str, file: str = "") -> tuple[str, SkillSource]:
        """Return the same text, and the source of the skill."""

    def used(self, name: str, by: str) -> None:
        """Count a use, once for each `by`."""

    def create(self, name: str, description: str) -> Path:
        """Create a folder for a person's new skill, with a template."""

    def remove(self, name: str) -> None: ...

    def switch(self, name: str, *, on: bool) -> None: ...

    def undo(self, name: str, by: str) -> str:
        """Go back one version, once for each `by`. Return a sentence about what is active now."""

    def difference(self, name: str) -> str:
        """Return the diff between a skill and its previous version."""

    def audit(self) -> Sequence[Checked]: ...
