"""What people are told of skills, and what a face or a command may ask of the shelf of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

SkillSource = Literal["person", "installed", "agent", "builtin"]
SkillState = Literal["on", "disabled", "hidden", "refused"]


class Finding(Struct, frozen=True, kw_only=True):
    """Something in a skill that its owner should look at. Advice, and never a proof of safety."""

    rule: str
    file: str
    line: int
    text: str
    grave: bool = False


class SkillRow(Struct, frozen=True, kw_only=True):
    """One skill in a list. `hidden`: another one of the same name comes first."""

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
    findings: tuple[Finding, ...] = ()


class Candidate(Struct, frozen=True, kw_only=True):
    """What lies in quarantine until the owner says yes to exactly these bytes."""

    name: str
    description: str
    license: str
    compatibility: str
    allowed_tools: tuple[str, ...]
    files: tuple[SkillFile, ...]
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]
    digest: str
    origin: str
    ticket: str  # its folder in quarantine
    before: str = ""  # digest of what is installed now
    diff: str = ""
    hides: SkillSource | None = None  # a skill of that name that will not be seen any more


class Proposal(Struct, frozen=True, kw_only=True):
    """A new skill, or a change to one, that the agent wrote and nobody has said yes to yet."""

    id: str
    name: str
    action: Literal["create", "improve", "copy"]
    why: str
    at: float
    digest: str
    base: str = ""  # digest of the tree that it changes; "" for a new skill
    session: str = ""
    untrusted: bool = False  # somebody else's words were in the conversation that made it
    state: Literal["waiting", "applied", "rejected"] = "waiting"


class Checked(Struct, frozen=True, kw_only=True):
    """What an audit says of one skill."""

    name: str
    source: SkillSource
    state: Literal["ok", "look", "tampered", "broken"]
    detail: str = ""
    findings: tuple[Finding, ...] = ()


class SkillIntake(Protocol):
    """How a skill of somebody else gets in: fetched, looked at, and then perhaps installed."""

    def fetch(self, origin: str, *, skill: str = "") -> Candidate: ...

    def again(self, name: str) -> Candidate:
        """What an installed one has become where it came from."""

    def install(self, candidate: Candidate) -> SkillRow: ...

    def discard(self, candidate: Candidate) -> None: ...


class SkillProposals(Protocol):
    """What the agent would like to keep."""

    def waiting(self) -> Sequence[Proposal]: ...

    def found(self, named: str) -> Proposal:
        """By its id, or by the name of the skill."""

    def difference(self, proposal: Proposal) -> str: ...

    def advice(self, proposal: Proposal) -> Sequence[Finding]: ...

    def approve(self, named: str) -> Proposal: ...

    def reject(self, named: str) -> Proposal: ...


class SkillShelf(Protocol):
    """All skills of a home. Everything raises Rejected with a sentence that names the fix."""

    @property
    def intake(self) -> SkillIntake: ...

    @property
    def proposals(self) -> SkillProposals: ...

    def rows(self) -> Sequence[SkillRow]: ...

    def names(self) -> frozenset[str]:
        """Those that are not disabled; cheap, nothing is read."""

    def shown(self, name: str) -> SkillShown: ...

    def text(self, name: str, file: str = "") -> str:
        """For the model: the instructions of a skill that can be used now, or one of its files."""

    def read(self, name: str, file: str = "") -> tuple[str, SkillSource]:
        """The same, with the word on who wrote it."""

    def used(self, name: str, by: str) -> None:
        """Count it, once for each `by`."""

    def create(self, name: str, description: str) -> Path:
        """A folder of the person's own to begin with."""

    def remove(self, name: str) -> None: ...

    def switch(self, name: str, *, on: bool) -> None: ...

    def undo(self, name: str, by: str) -> str:
        """One step back, once for each `by`; tells what is in force now."""

    def difference(self, name: str) -> str:
        """Of a skill to its version before."""

    def audit(self) -> Sequence[Checked]: ...
