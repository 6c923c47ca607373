"""Who may come in, and what was allowed for good. The store keeps it, every process reads it.

`version` grows with each change. What begins a turn or a call is written only under the version by
which it was decided, so what is revoked is revoked for the very next commit, on every node.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from hermes.core.grants import Grant
from hermes.core.people import Role, Sender, principal_of
from hermes.core.principal import HOPS_MAX


class KnownPerson(Struct, frozen=True, kw_only=True):
    """A person by the platform's immutable id. A stranger's row means: removed, whatever a setting
    says. `chat` is where the person was let in, if it was in a chat."""

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


class AdmissionRequest(Struct, frozen=True, kw_only=True):
    """An unknown person asks to be let in."""

    id: str
    platform: str
    person: str
    chat: str
    name: str = ""
    text: str = ""  # their first words, for the owner's eyes only
    at: float = 0.0


class TrustRegister(Struct, frozen=True):
    """All of it that a decision needs."""

    version: int = 0
    people: Mapping[tuple[str, str], KnownPerson] = {}  # by platform and id
    grants: tuple[Grant, ...] = ()


class Trust(Protocol):
    """Every method is one transaction, with its line in the audit log. `by` names who did it."""

    async def version(self) -> int: ...

    async def register(self) -> TrustRegister: ...

    async def invite(self, invite: Invite) -> None: ...

    async def redeem(self, digest: str, known: KnownPerson) -> KnownPerson | None:
        """Let this person in with the invite's role; None when no such invite is open. Whoever
        comes twice with the same code is let in once."""

    async def ask(self, request: AdmissionRequest, *, most: int) -> bool:
        """Note that somebody asks. The oldest stranger makes room when there are more than `most`;
        False when this person's request is there already."""

    async def requests(self) -> Sequence[AdmissionRequest]: ...

    async def admit(self, known: KnownPerson, *, request: str = "") -> bool:
        """With `request`, only while that request is open; False when it is not."""

    async def revoke(self, known: KnownPerson) -> None:
        """The person is a stranger from now on, and nothing that waits to be sent to them is."""

    async def dismiss(self, request: str, *, by: str, at: float) -> bool: ...

    async def revoke_grant(self, grant: str, *, by: str, at: float) -> bool: ...


def role_of(register: TrustRegister, sender: Sender, configured: Callable[[Sender], Role]) -> Role:
    """What may be done in the name of who speaks: the weaker of what the person is now and of the
    ceiling that came with the message."""
    principal = principal_of(sender)
    if len(principal.via) > HOPS_MAX:
        return Role.STRANGER
    if principal.person is None or principal.spoke is None:
        return principal.ceiling
    person = Sender(sender.key, principal.spoke, principal.person.id, direct=principal.direct)
    return max(principal.ceiling, role_in(register, person, configured(person)))


def role_in(register: TrustRegister, sender: Sender, configured: Role) -> Role:
    """What the register says of a person comes before what a setting says. To be paired counts in
    a chat of two only; in a room it is the room that lets people in."""
    known = register.people.get((sender.address.platform, sender.id))
    if known is None:
        return configured
    if known.role is Role.PAIRED:
        return min(configured, Role.PAIRED) if sender.is_direct else configured
    return known.role
