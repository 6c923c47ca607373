"""What a start looks at and says: is this a chain of crashes, and what shall be done first?"""

from collections.abc import Sequence

from hermes.core.ids import MessageId, NodeId, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import derived
from hermes.core.store import Boot

BOOTS_LOOKED_AT = 8
CRASHES_MAX = 3
GAP_S = 300.0


def is_storm(boots: Sequence[Boot], now: float) -> bool:
    """Have the last boots all died, each soon after the one before it (C15)? Newest first; the
    boot that is asking is not among them."""
    crashed, later = 0, now
    for boot in boots:
        if boot.state != "died" or not 0 <= later - boot.started_at < GAP_S:
            break
        crashed, later = crashed + 1, boot.started_at
    return crashed >= CRASHES_MAX


def boot_message(text: str, home: Address, node: NodeId, at: float) -> Inbound:
    """BOOT.md as a turn of its own, whose answer goes to the home chat."""
    said = Inbound(
        id=MessageId(f"boot-{node}"),
        account="boot",
        session=session_key("boot", "dm", "gateway"),
        sender=Person(id="owner"),
        address=home,
        text=text,
        at=at,
        origin="boot",
    )
    return derived(said)
