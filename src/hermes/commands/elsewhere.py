"""Lanes beside this one that work for this chat: who may decide there, and how that gets there.

A background turn, say, has a lane of its own, but its questions are asked in this chat, so they are
answered here. The answer is a message to that lane, with an id that a second run has again.
"""

from msgspec.structs import replace

from hermes.core.channel import Desk, Order
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Inbound
from hermes.core.people import Role, is_private
from hermes.core.session import Session, Turn, ref

FORWARDED = "forwarded"  # the account of what is passed on; no channel has it
LANES_MAX = 50  # that are looked at for one order


def by_owner(order: Order) -> bool:
    """The owner says it, and nobody reads along."""
    return order.role is Role.OWNER and is_private(order.session.key)


def may_decide(order: Order, turn: Turn) -> bool:
    """The person whose turn it is, and the owner."""
    return order.inbound.sender.id == turn.sender or order.role is Role.OWNER


async def lanes_for_this_chat(order: Order, desk: Desk, phase: str) -> list[Session]:
    """Sessions of that phase whose turn speaks in this chat from a lane that is not a chat's."""
    platform = order.inbound.address.platform
    rows = await desk.store.library.in_phase(phase, limit=LANES_MAX)
    keys = [row.key for row in rows if row.key.split(":")[2:3] != [platform]]
    loaded = [await desk.store.journal.load(key) for key in keys]
    return [session for session in loaded if speaks_here(order, session)]


def speaks_here(order: Order, session: Session) -> bool:
    return session.turn is not None and session.turn.address == order.inbound.address


def forwarded(order: Order, lane: SessionKey, text: str) -> Inbound:
    """The same person says this in that lane."""
    id_ = MessageId(f"{ref(order.inbound)}/{lane}")
    said = order.inbound
    return replace(
        said, id=id_, account=FORWARDED, session=lane, text=text, media=(), place="", before=()
    )
