"""Handle a session that cannot be read: it waits until its person leaves the conversation."""

from hermes.core.errors import Refused, Rejected, RowUnreadable
from hermes.core.ids import SessionKey
from hermes.core.store import Claim, Fence, Journal, Store
from hermes.gateway.worker import Worker

UNREADABLE = (
    "I cannot read the stored part of this conversation, so I cannot continue it. Send /new to "
    "start another one; the old one is kept, and hermes doctor says what is wrong with it"
)


async def demand_readable(journal: Journal, key: SessionKey) -> None:
    """Raise Rejected, unless it was left elsewhere meanwhile, or deleted."""
    try:
        await journal.load(key)
    except (RowUnreadable, Refused) as broken:
        raise Rejected(UNREADABLE) from broken


async def set_aside(store: Store, worker: Worker, claim: Claim) -> bool:
    """Let it rest, so that it can be deleted; a message that comes later is looked at again. Return
    False when it can be read after all."""
    row = await store.library.find(claim.key)
    try:
        await worker.open(claim)
    except (RowUnreadable, Refused):  # up to the end that was seen; not if more came since
        fence = Fence(worker.node, claim.epoch)
        await store.journal.rest(claim.key, row.events if row else 0, fence=fence)
        return True
    return False
