"""What a start checks and says: is this a chain of crashes, and what is done first?"""

from collections.abc import Sequence

from hermes.core.ids import MessageId, NodeId, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import derived
from hermes.core.store import Boot

BOOTS_LOOKED_AT = 8
CRASHES_MAX = 3
GAP_S = 300.0


def is_storm(boots: Sequence[Boot], now: float) -> bool:
    """Return True if the last boots all died, each soon after the one before it (C15). They come
    newest first, without the boot that asks."""
    crashed, later = 0, now
    for boot in boots:
        if boot.state != "died" or not 0 <= later - boot.started_at < GAP_S:
            break
        crashed, later = crashed + 1, boot.started_at
    return crashed >= CRASHES_MAX


def boot_message(text: str, home: Address, node: NodeId, at: float) -> Inbound:
    """Return BOOT.md as the message of a turn whose answer goes to the home chat."""
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
