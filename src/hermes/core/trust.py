"""Who may come in, and what was allowed for good. The store keeps it, every process reads it.

`version` grows with each change. What begins a turn or a call is written only under the version by
which it was decided, so what is revoked is revoked for the very next commit, on every node.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from hermes.core.grants import Grant
from hermes.core.people import Role, Sender, is_private


class Known(Struct, frozen=True, kw_only=True):
    """A person by the platform's immutable id. A stranger's row says: sent away, whatever a
    setting says. `chat` is where the person was let in, if it was in a chat."""

    platform: str
    id: str
    role: Role
    name: str = ""  # for display only
    chat: str = ""
    since: float = 0.0
    by: str = ""  # who let them in: a terminal, an invite, an owner


class Invite(Struct, frozen=True, kw_only=True):
    """For one person, once. Only the digest of its code is kept."""

    digest: str
    role: Role
    made_at: float
    expires_at: float
    by: str = ""


class Request(Struct, frozen=True, kw_only=True):
    """Somebody who is not known asks to be let in."""

    id: str
    platform: str
    person: str
    chat: str
    name: str = ""
    text: str = ""  # their first words, for the owner's eyes only
    at: float = 0.0


class Register(Struct, frozen=True):
    """All of it that a decision needs."""

    version: int = 0
    people: Mapping[tuple[str, str], Known] = {}  # by platform and id
    grants: tuple[Grant, ...] = ()


class Trust(Protocol):
    """Every method is one transaction, with its line in the audit log. `by` names who did it."""

    async def version(self) -> int: ...

    async def register(self) -> Register: ...

    async def invite(self, invite: Invite) -> None: ...

    async def redeem(self, digest: str, known: Known) -> Known | None:
        """Let this person in with the invite's role; None when no such invite is open. Whoever
        comes twice with the same code is let in once."""

    async def ask(self, request: Request, *, most: int) -> bool:
        """Note that somebody asks. The oldest stranger makes room when there are more than `most`;
        False when this person's request is there already."""

    async def requests(self) -> Sequence[Request]: ...

    async def admit(self, known: Known, *, request: str = "") -> bool:
        """With `request`, only while that request is open; False when it is not."""

    async def revoke(self, known: Known) -> None:
        """The person is a stranger from now on, and nothing that waits to be sent to them is."""

    async def dismiss(self, request: str, *, by: str, at: float) -> bool: ...

    async def revoke_grant(self, grant: str, *, by: str, at: float) -> bool: ...


def role_in(register: Register, sender: Sender, configured: Role) -> Role:
    """What the register says of a person comes before what a setting says. To be paired counts in
    a chat of two only; in a room it is the room that lets people in."""
    known = register.people.get((sender.address.platform, sender.id))
    if known is None:
        return configured
    if known.role is Role.PAIRED:
        return min(configured, Role.PAIRED) if is_private(sender.key) else configured
    return known.role
