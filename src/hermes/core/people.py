"""Who speaks, and who that is to us."""

from enum import IntEnum

from msgspec import Struct

from hermes.core.ids import SessionKey
from hermes.core.messages import Address, Inbound, Origin


class Role(IntEnum):
    """Who a person is to us, the most trusted first."""

    OWNER = 0
    PAIRED = 1
    MEMBER = 2  # let in by the room, not as a person
    STRANGER = 3


class Sender(Struct, frozen=True):
    """A person by the platform's immutable id, and where they spoke."""

    key: SessionKey
    address: Address
    id: str
    origin: Origin = "person"

    @property
    def name(self) -> str:
        return f"{self.address.platform}:{self.id}"


def sender_of(inbound: Inbound) -> Sender:
    return Sender(inbound.session, inbound.address, inbound.sender.id, inbound.origin)


def is_alone(sender: Sender) -> bool:
    """Does nobody else speak in this lane: is it a chat of two, or a person's own in a group?"""
    own = 6 + bool(sender.address.thread)  # agent:main:platform:kind:chat[:thread]:person
    return is_private(sender.key) or len(sender.key.split(":")) >= own


def is_private(key: SessionKey) -> bool:
    """Is it the lane of a chat of two?"""
    return key.split(":")[3:4] == ["dm"]
