"""What the engine asks of storage, one module a side. `Store` bundles the sides.

Plugins implement the Protocols; the engine gets them as arguments. Import from here.
"""

from msgspec import Struct

from hermes.core.job_store import Jobs
from hermes.core.outbox import Outbox
from hermes.core.store.audit import Audit
from hermes.core.store.cursors import Cursors
from hermes.core.store.journal import Accepted, Claim, Fence, Journal
from hermes.core.store.library import Library
from hermes.core.store.media import MediaStore
from hermes.core.store.nodes import Boot, Nodes
from hermes.core.store.rows import ChatRow, ConversationRow, Counts, Found, Hit, Home, SessionRow
from hermes.core.store.texts import TextStore
from hermes.core.store.upkeep import Upkeep
from hermes.core.store.usage import Dimension, Spending, ToolSum, UsageSum
from hermes.core.trust import Trust

__all__ = [
    "Accepted",
    "Audit",
    "Boot",
    "ChatRow",
    "Claim",
    "ConversationRow",
    "Counts",
    "Cursors",
    "Dimension",
    "Fence",
    "Found",
    "Hit",
    "Home",
    "Jobs",
    "Journal",
    "Library",
    "MediaStore",
    "Nodes",
    "SessionRow",
    "Spending",
    "Store",
    "TextStore",
    "ToolSum",
    "Upkeep",
    "UsageSum",
]


class Store(Struct, frozen=True, kw_only=True):
    """One database, seen from each of its sides."""

    journal: Journal
    nodes: Nodes
    outbox: Outbox
    cursors: Cursors
    jobs: Jobs
    library: Library
    texts: TextStore
    trust: Trust
    audit: Audit
    upkeep: Upkeep
