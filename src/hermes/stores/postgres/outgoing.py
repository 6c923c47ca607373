"""Changes to a reply while it is sent: operations, and their values for one batch."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hermes.core.ids import NodeId, ReplyId
from hermes.core.messages import sound
from hermes.stores.postgres.arrays import Flags, NumberArray, TextArray, Times
from hermes.stores.postgres.operations import Arrays, Operation


@dataclass(eq=False, kw_only=True)
class Sending(Operation):
    done: asyncio.Future[bool]
    reply: ReplyId
    node: NodeId
    behind: str
    chunk: int
    mine: bool


@dataclass(eq=False, kw_only=True)
class Noted(Operation):
    """A reply's new delivery state. A field that is None stays unchanged."""

    done: asyncio.Future[None]
    reply: ReplyId
    node: NodeId | None
    state: str | None = None
    chunks: int | None = None
    receipt: str | None = None
    why: str | None = None
    not_before: float | None = None
    at: float | None = None
    counts: bool = False  # as an attempt


def sendings(operations: Sequence[Sending], now: float) -> Arrays:
    return {
        "id": TextArray.of([op.reply for op in operations]),
        "node": TextArray.of([op.node for op in operations]),
        "again": Flags.of([op.again for op in operations]),
        "behind": TextArray.of([sound(op.behind) for op in operations]),
        "chunk": NumberArray.of([op.chunk for op in operations]),
        "mine": Flags.of([op.mine for op in operations]),
        "now": now,
    }


def noted(operations: Sequence[Noted]) -> Arrays:
    return {
        "id": TextArray.of([op.reply for op in operations]),
        "node": TextArray.of([op.node for op in operations]),
        "state": TextArray.of([op.state for op in operations]),
        "chunks": NumberArray.of([op.chunks for op in operations]),
        "receipt": TextArray.of([op.receipt and sound(op.receipt) for op in operations]),
        "why": TextArray.of([op.why and sound(op.why) for op in operations]),
        "not_before": Times.of([op.not_before for op in operations]),
        "at": Times.of([op.at for op in operations]),
        "counts": Flags.of([op.counts for op in operations]),
    }
