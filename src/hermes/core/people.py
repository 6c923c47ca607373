"""Who speaks, who that is to us, and what is done in their name elsewhere."""

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.core.ids import SessionKey, name_of
from hermes.core.messages import PROVENANCE, Address, Inbound, Origin
from hermes.core.principal import HOPS_MAX, PROCESS, UNSIGNED, Person, Principal
from hermes.core.principal import Role as Role

TOO_FAR = f"tasks may start other tasks only {HOPS_MAX} times in a row. Ask for this one directly"


class Sender(Struct, frozen=True):
    """A person by the platform's immutable id, and where they spoke."""

    key: SessionKey
    address: Address
    id: str
    origin: Origin = "person"
    direct: bool | None = None
    principal: Principal | None = None

    @property
    def name(self) -> str:
        """Of the person behind it."""
        carried = self.principal
        if carried is not None and carried.person is not None and carried.spoke is not None:
            return f"{carried.spoke.platform}:{carried.person.id}"
        return f"{self.address.platform}:{self.id}"

    @property
    def is_direct(self) -> bool:
        return is_direct(self.key, self.direct)

    @property
    def is_alone(self) -> bool:
        """Return True if this person is the only one who speaks in this session."""
        name = name_of(self.key)
        return self.is_direct or len(name.rest if name else ()) > bool(self.address.thread)


def is_direct(key: SessionKey, said: bool | None) -> bool:
    """Is it a chat of two? The channel says so; in journals from before it did, only the key."""
    name = name_of(key) if said is None else None
    return bool(said) or (name is not None and name.kind == "dm")


def sender_of(inbound: Inbound) -> Sender:
    carried = (inbound.origin, inbound.direct, inbound.principal)
    return Sender(inbound.session, inbound.address, inbound.sender.id, *carried)


def principal_of(sender: Sender, labels: tuple[str, ...] = ()) -> Principal:
    """Return on whose behalf this is said. `labels` are of what was read by then."""
    carried = sender.principal or _uncarried(sender)
    return replace(carried, labels=_read(carried.labels, labels))


def _uncarried(sender: Sender) -> Principal:
    if sender.origin in UNSIGNED:
        return Principal(ceiling=UNSIGNED[sender.origin], via=(sender.origin,))
    person, direct = Person(id=sender.id), sender.is_direct
    via = () if sender.origin == "person" else (sender.origin,)
    return Principal(person=person, spoke=sender.address, direct=direct, via=via)


def derived(message: Inbound, cause: Principal = PROCESS, ceiling: Role = Role.OWNER) -> Inbound:
    """Return `message` as something that `cause` brought about: with no more rights, with all its
    labels, and asked about where that is. Raise Rejected at the end of a long chain."""
    if len(cause.via) >= HOPS_MAX:
        raise Rejected(TOO_FAR)
    principal = replace(
        cause,
        ceiling=max(cause.ceiling, ceiling),
        ask=cause.ask or cause.spoke,
        via=(*cause.via, message.origin),
        labels=_read(cause.labels, message.labels),
    )
    labels = tuple(dict.fromkeys((*message.labels, *cause.labels)))
    return replace(message, principal=principal, labels=labels)


def _read(*labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(PROVENANCE & {label for some in labels for label in some}))
