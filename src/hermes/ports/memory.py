"""The port of memories: entries, versions and proposals.

A plugin implements `Memories`. Its methods block on files: async code calls them in a thread.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.ports import PromptPart

Target = Literal["memory", "user", "person"]  # MEMORY.md, USER.md, and the portrait in PERSON.md
TARGETS: tuple[Target, ...] = ("memory", "user", "person")
Author = Literal["person", "agent", "background"]
# `untrusted` occurs in proposals only: approved by a person, it becomes `approved`.
Trust = Literal["trusted", "approved", "untrusted"]


class MemoryEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One paragraph. `used` is 0 until a turn used it; `turn` is the turn that it comes from."""

    id: str
    target: Target
    text: str
    created: float
    used: float = 0.0
    turn: str = ""
    author: Author = "person"
    trust: Trust = "trusted"
    supersedes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()  # turns that support it


class MemoryClaim(Struct, frozen=True, omit_defaults=True):
    """The text of a proposed entry."""

    text: str
    evidence: tuple[str, ...] = ()


class By(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The author of a change. Its `call` makes the change idempotent."""

    author: Author
    turn: str = ""
    call: str = ""
    trust: Trust = "trusted"


class MemoryChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of entries. `old` names entries by id, or by words that occur in one only.
    `describe` replaces all claims that the person did not write."""

    action: Literal["add", "replace", "remove", "describe"]
    target: Target
    new: tuple[MemoryClaim, ...] = ()
    old: tuple[str, ...] = ()


class MemoryVersion(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="version.1"):
    """A change that was made. `before` and `after` are digests of the file; `order` lists the
    entries after it."""

    number: int
    at: float
    target: Target
    why: str
    by: By
    before: str
    after: str
    removed: tuple[MemoryEntry, ...] = ()
    added: tuple[MemoryEntry, ...] = ()
    order: tuple[str, ...] = ()
    undoes: int = 0
    proposal: str = ""


class MemoryProposal(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="proposal.1"):
    """A change that waits for the person; `old` are the entries that it would supersede."""

    id: str
    at: float
    why: str
    by: By
    change: MemoryChange
    old: tuple[MemoryEntry, ...] = ()


class Same(Struct, frozen=True):
    """Nothing changed: this entry says it already."""

    entry: MemoryEntry


class Fill(Struct, frozen=True, kw_only=True):
    """How full a file is. A person may write more than `most`, but a prompt shows only that
    much."""

    chars: int
    most: int

    @property
    def percent(self) -> int:
        return round(100 * self.chars / self.most)


class Memories(Protocol):
    """Store memories. Methods raise Rejected for an invalid change, StoreFailed for a bad file."""

    def entries(self, target: Target) -> Sequence[MemoryEntry]:
        """Return the entries in file order. A person's edit of the file is recorded as a version
        first."""

    def fill(self, target: Target) -> Fill: ...

    def place(self, target: Target) -> str:
        """Return the path of the file that a person may edit."""

    def change(self, change: MemoryChange, by: By) -> MemoryVersion | MemoryProposal | Same:
        """Make the change; durable on return. If it needs the person's approval, return a
        proposal."""

    def versions(self, *, limit: int, target: Target | None = None) -> Sequence[MemoryVersion]:
        """Return the versions, the latest first."""

    def diff(self, number: int) -> str:
        """Return the unified diff of a version."""

    def undo(self, number: int | None, by: By) -> MemoryVersion:
        """Undo this version, or the latest one that has not been undone."""

    def proposals(self) -> Sequence[MemoryProposal]: ...

    def approve(self, name: str, by: By) -> MemoryVersion | Same: ...

    def reject(self, name: str, by: By) -> MemoryProposal: ...

    def used(self, ids: Sequence[str]) -> None:
        """Mark these entries as used now."""

    def snapshot(self) -> tuple[PromptPart, ...]:
        """Return the memories for a new conversation's prompt. A damaged file does not raise."""
