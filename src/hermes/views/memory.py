"""What is kept about the world, the work and the person: entries, their versions, and proposals.

A plugin implements `Memories`. Its methods wait for files: async code calls them in a
thread.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.ports import PromptPart

Target = Literal["memory", "user", "person"]  # MEMORY.md, USER.md, and the portrait in PERSON.md
TARGETS: tuple[Target, ...] = ("memory", "user", "person")
Author = Literal["person", "agent", "background"]
# `untrusted` is only in proposals: what came from a stranger's content is `approved` by a person.
Trust = Literal["trusted", "approved", "untrusted"]


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One paragraph. `used` is 0 while nobody was seen using it; `turn` is where it comes from."""

    id: str
    target: Target
    text: str
    created: float
    used: float = 0.0
    turn: str = ""
    author: Author = "person"
    trust: Trust = "trusted"
    supersedes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()  # the turns that show it


class Claim(Struct, frozen=True, omit_defaults=True):
    """A text that wants to be an entry."""

    text: str
    evidence: tuple[str, ...] = ()


class By(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who changes something. A change with a `call` is made once, however often it is asked for."""

    author: Author
    turn: str = ""
    call: str = ""
    trust: Trust = "trusted"


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`old` names entries by their id, or by words that occur in only one. `describe` puts new
    claims in the place of all that were not written by the person."""

    action: Literal["add", "replace", "remove", "describe"]
    target: Target
    new: tuple[Claim, ...] = ()
    old: tuple[str, ...] = ()


class Version(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="version.1"):
    """A change that was made. `before` and `after` are digests of the file's bytes, `order` are the
    entries in it afterwards."""

    number: int
    at: float
    target: Target
    why: str
    by: By
    before: str
    after: str
    removed: tuple[Entry, ...] = ()
    added: tuple[Entry, ...] = ()
    order: tuple[str, ...] = ()
    undoes: int = 0
    proposal: str = ""


class Proposal(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="proposal.1"):
    """A change that waits for the person; `old` are the entries that it would supersede."""

    id: str
    at: float
    why: str
    by: By
    change: Change
    old: tuple[Entry, ...] = ()


class Same(Struct, frozen=True):
    """Nothing had to change: this entry says it already."""

    entry: Entry


class Fill(Struct, frozen=True, kw_only=True):
    """How full a file is. A person may write more than `most`; a prompt shows no more."""

    chars: int
    most: int

    @property
    def percent(self) -> int:
        return round(100 * self.chars / self.most)


class Memories(Protocol):
    """Raises Rejected when a change makes no sense, StoreFailed when a file cannot be used."""

    def entries(self, target: Target) -> Sequence[Entry]:
        """In the order of the file. What a person changed there by hand is a version first."""

    def fill(self, target: Target) -> Fill: ...

    def place(self, target: Target) -> str:
        """The file that a person may edit."""

    def change(self, change: Change, by: By) -> Version | Proposal | Same:
        """Durable when it returns. What may not be done without the person becomes a proposal."""

    def versions(self, *, limit: int, target: Target | None = None) -> Sequence[Version]:
        """The latest first."""

    def diff(self, number: int) -> str:
        """What a version changed in its file, as a unified diff."""

    def undo(self, number: int | None, by: By) -> Version:
        """Take back that version, or the latest change that has not been taken back."""

    def proposals(self) -> Sequence[Proposal]: ...

    def approve(self, name: str, by: By) -> Version | Same: ...

    def reject(self, name: str, by: By) -> Proposal: ...

    def used(self, ids: Sequence[str]) -> None:
        """These entries were of use just now."""

    def snapshot(self) -> tuple[PromptPart, ...]:
        """What a new conversation's prompt says of all this. Never raises for a broken file."""
