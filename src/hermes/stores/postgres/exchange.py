"""Turn one batch into SQL statements, and the server's rows into results for the callers."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from hermes.core.errors import Fenced, HermesError, Outdated, Refused
from hermes.core.ids import SessionKey
from hermes.core.projection import Commit
from hermes.core.store import Accepted
from hermes.stores.postgres import operations as ops
from hermes.stores.postgres import outgoing
from hermes.stores.postgres.arrays import TextArray
from hermes.stores.postgres.connections import Dialer
from hermes.stores.postgres.operations import (
    Accept,
    Append,
    Arrays,
    Operation,
    RestOperation,
)
from hermes.stores.postgres.outgoing import Noted, Sending

AnyOperation = Append | RestOperation | Accept | Sending | Noted
Rows = Sequence[tuple[Any, ...]]

K = TypeVar("K", bound=Operation)
V = TypeVar("V")


class Sorted:
    """A batch split by kind of operation, each in lane order."""

    def __init__(self, batch: Sequence[AnyOperation]) -> None:
        ordered = sorted(batch, key=lambda op: op.lane)
        self.appends = [op for op in ordered if isinstance(op, Append)]
        self.rests = [op for op in ordered if isinstance(op, RestOperation)]
        self.accepts = [op for op in batch if isinstance(op, Accept)]
        self.sendings = [op for op in ordered if isinstance(op, Sending)]
        self.noted = [op for op in ordered if isinstance(op, Noted)]

    def answered(self) -> bool:
        """Return True if the batch has something that a person in a chat may be waiting for."""
        commits = (op.commit for op in self.appends)
        return any(commit.replies or commit.rests or _ended(commit) for commit in commits)

    def platforms(self) -> Collection[str]:
        """Return the platforms that the replies of this batch go to."""
        replies = (reply for op in self.appends for reply in op.commit.replies)
        return {reply.address.platform for reply in replies}


def plan(
    batch: Sorted, *, now: float, dialer: Dialer, beyond: Sequence[str], log: Arrays
) -> Sequence[tuple[str, Arrays]]:
    """Return the statements of one transaction, by name, in execution order. `beyond` are the
    platforms whose replies other processes send; `log` holds the audit rows.

    Rows are locked in one order everywhere: sessions by key, then the inbox, then the outbox. A
    batch of only appends or only rests locks by its own statement, which follows the order of its
    arrays.
    """
    appends, rests, accepts = batch.appends, batch.rests, batch.accepts
    keys = sorted({op.inbound.session for op in accepts})
    locks = sorted({*(op.lane for op in appends), *(op.lane for op in rests), *keys})
    sent = sorted([op.reply for op in batch.sendings] + [op.reply for op in batch.noted])
    steps: list[tuple[str, Arrays]] = []
    received = ops.accepts(accepts, now, dialer.shard) if accepts else {}
    if accepts:
        steps.append(("open", received))
    if accepts or (appends and rests):
        steps.append(("lock", {"keys": TextArray.of(locks)}))
    if len(sent) > 1:
        steps.append(("lock_outbox", {"ids": TextArray.of(sent)}))
    if appends:
        steps.append(("append", {**ops.appends(appends, dialer.shard), **log}))
    if rests:
        steps.append(("rest", ops.rests(rests)))
    if accepts:
        steps += [("accept", received), ("seen", received)]
    if batch.sendings:
        steps.append(("sending", outgoing.sendings(batch.sendings, now)))
    if batch.noted:
        steps.append(("noted", outgoing.noted(batch.noted)))
    answered = batch.answered()
    if accepts or beyond or answered:
        told = {"keys": TextArray.of(keys), "platforms": TextArray.of(beyond), "answered": answered}
        steps.append(("tell", {**told, "token": dialer.token}))
    return steps


def answer(batch: Sorted, rows: Mapping[str, Rows]) -> Sequence[Append]:
    """Give each caller its result. Return the appends that wrote nothing."""
    heads = _numbered(batch.appends, rows["append"])
    rested = _numbered(batch.rests, rows["rest"])
    fresh = _numbered(batch.accepts, rows["accept"])
    taken = _numbered(batch.sendings, rows["sending"])
    for append, (head,) in heads.items():
        tell(append.done, head)
    for rest in batch.rests:
        if rest in rested:
            tell(rest.done, rested[rest][0] == rest.position)
        else:
            fail(rest.done, Fenced(f"{rest.key} belongs to another process now"))
    for accept, (key, position) in _numbered(batch.accepts, rows["seen"]).items():
        accepted = Accepted(fresh=accept in fresh, key=SessionKey(key), position=position)
        tell(accept.done, accepted)
    for sending in batch.sendings:
        tell(sending.done, sending in taken)
    for noted in batch.noted:
        tell(noted.done, None)
    return [append for append in batch.appends if append not in heads]


def answer_refused(appends: Sequence[Append], held: Rows) -> None:
    """Fail the appends that were refused. `held` are those whose fence still holds: they were built
    on an older state, or decided by an older trust register.

    After a lost connection an older state means that the first attempt was committed after all.
    """
    heads = _numbered(appends, held)
    for append in appends:
        key = append.commit.key
        if append not in heads:
            fail(append.done, Fenced(f"{key} belongs to another process now"))
        elif append.commit.trust_version is not None and heads[append][1]:
            fail(append.done, Outdated(f"{key}: who may do what has changed meanwhile"))
        elif append.again:
            tell(append.done, heads[append][0])
        else:
            fail(append.done, Refused(f"{key} has moved on; read it again"))


def tell(done: asyncio.Future[V], value: V) -> None:
    if not done.done():  # else the caller was cancelled; what it asked for is written all the same
        done.set_result(value)


def fail(done: asyncio.Future[Any], error: HermesError) -> None:
    if not done.done():
        done.set_exception(error)


def _ended(commit: Commit) -> bool:
    return any(turn.state != "running" for turn in commit.turns)


def _numbered(operations: Sequence[K], rows: Rows) -> dict[K, tuple[Any, ...]]:
    """Map rows to their operations. Each row begins with the operation's number, counted from 1."""
    return {operations[number - 1]: tuple(rest) for number, *rest in rows}
