"""Operations that wait for the next group commit, and their encoding as arrays of one statement.

Pure but for the futures that the operations carry: nothing here talks to the server.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hermes.core.codec import decode_event, encode, kind_of
from hermes.core.errors import Rejected
from hermes.core.events import HomeSet, MessageReceived, SessionReset
from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import Address, Inbound, sound
from hermes.core.projection import Commit
from hermes.core.store import Accepted, Fence
from hermes.stores.listing import titles_of
from hermes.stores.postgres.accounts import call_arrays, usage_arrays
from hermes.stores.postgres.arrays import Blobs, Flags, NumberArray, TextArray, Times
from hermes.stores.postgres.questions import answer_arrays, grant_arrays, question_arrays

Arrays = dict[str, object]

RESET_KIND = str(SessionReset.__struct_config__.tag)
HOME_KIND = str(HomeSet.__struct_config__.tag)
_TITLE = b'"title"'  # stands so in every event that may set one; quotes inside a text are escaped


@dataclass(eq=False, kw_only=True)
class Operation:
    """A write that waits for the group commit. `again` is set when the connection was lost after it
    was sent: it may be committed already.

    Operations of one `lane` never share a batch, so each one sees the one before it committed.
    """

    lane: str
    size: int = 0
    again: bool = False


class OpenedConversation(NamedTuple):
    """A conversation that a commit opens, with its title at the commit's end."""

    id: SessionId
    at: float
    title: str


class SetHome(NamedTuple):
    """A home that is set by the i-th event of a commit."""

    i: int
    address: Address
    at: float


@dataclass(eq=False, kw_only=True)
class Append(Operation):
    """A commit to append. `title` is the new title of the conversation that was current before;
    None leaves it."""

    done: asyncio.Future[int]
    commit: Commit
    fence: Fence
    title: str | None
    opened: Sequence[OpenedConversation]
    homes: Sequence[SetHome]


@dataclass(eq=False, kw_only=True)
class RestOperation(Operation):
    done: asyncio.Future[bool]
    key: SessionKey
    position: int
    fence: Fence


@dataclass(eq=False, kw_only=True)
class Accept(Operation):
    done: asyncio.Future[Accepted]
    inbound: Inbound
    opens: SessionId
    kind: str
    event: bytes


def accept_of(inbound: Inbound, opens: SessionId, done: asyncio.Future[Accepted]) -> Accept:
    """Make an Accept. Raise Rejected for text that PostgreSQL cannot store, before it can fail a
    batch."""
    event = MessageReceived(inbound, opens)
    try:
        body = encode(event)
    except UnicodeEncodeError as odd:
        raise Rejected("the message contains half a character") from odd
    if "\0" in f"{inbound.account}{inbound.id}{inbound.session}{opens}":
        raise Rejected("a NUL character in an id")
    return Accept(
        lane="",
        size=len(body),
        done=done,
        inbound=inbound,
        opens=opens,
        kind=kind_of(event),
        event=body,
    )


def append_of(commit: Commit, fence: Fence, done: asyncio.Future[int]) -> Append:
    """Make an Append. Raise StoreCorrupt for an unreadable event, before it can fail a batch."""
    title, opened = _naming(commit)
    return Append(
        lane=commit.key,
        size=sum(2 * len(event.body) for event in commit.events),
        done=done,
        commit=commit,
        fence=fence,
        title=title,
        opened=opened,
        homes=_set_homes(commit) if commit.homes else (),
    )


def _naming(commit: Commit) -> tuple[str | None, Sequence[OpenedConversation]]:
    if not any(event.kind == RESET_KIND or _TITLE in event.body for event in commit.events):
        return None, ()
    title, *later = titles_of(commit)
    resets = [event for event in commit.events if event.kind == RESET_KIND]
    opened = [
        OpenedConversation(reset.opens, reset.at, sound(named or ""))
        for event, named in zip(resets, later, strict=True)
        if isinstance(reset := decode_event(event.body), SessionReset)
    ]
    return None if title is None else sound(title), opened


def _set_homes(commit: Commit) -> Sequence[SetHome]:
    return [
        SetHome(i, home.address, home.at)
        for i, event in enumerate(commit.events, start=1)
        if event.kind == HOME_KIND and isinstance(home := decode_event(event.body), HomeSet)
    ]


def fences(operations: Sequence[Append | RestOperation]) -> Arrays:
    return {
        "key": TextArray.of([op.lane for op in operations]),
        "node": TextArray.of([op.fence.node for op in operations]),
        "epoch": NumberArray.of([op.fence.epoch for op in operations]),
    }


def refused(operations: Sequence[Append]) -> Arrays:
    return {**fences(operations), "base": NumberArray.of([op.commit.base for op in operations])}


def appends(operations: Sequence[Append], shard: int) -> Arrays:
    """Return the arrays of the appends. Arrays that would be empty are left out, and so are their
    parts of the statement."""
    commits = [op.commit for op in operations]
    summaries = [commit.summary for commit in commits]
    numbered = list(enumerate(commits, start=1))
    return {
        **refused(operations),
        "count": NumberArray.of([len(commit.events) for commit in commits]),
        "at": Times.of([commit.at for commit in commits]),
        "id": TextArray.of([summary.id for summary in summaries]),
        "phase": TextArray.of([summary.phase for summary in summaries]),
        "mark": TextArray.of([summary.mark for summary in summaries]),
        "runs": NumberArray.of([summary.runs for summary in summaries]),
        "title": TextArray.of([sound(summary.title) for summary in summaries]),
        "rows": NumberArray.of([summary.rows for summary in summaries]),
        "taken": NumberArray.of([summary.taken for summary in summaries]),
        "due_at": Times.of([summary.due_at for summary in summaries]),
        "rests": Flags.of([commit.rests for commit in commits]),
        "standing": NumberArray.of([commit.trust_version for commit in commits]),
        **({"begins": True} if any(c.trust_version is not None for c in commits) else {}),
        **({"resting": True} if any(commit.rests for commit in commits) else {}),
        **({"shard": shard} if any(summary.taken for summary in summaries) else {}),
        **_events(numbered),
        **_messages(numbered),
        **_replies(numbered),
        **_turns(numbered),
        **_conversations(operations),
        **_titles(operations),
        **_homes(operations),
        **usage_arrays(numbered),
        **call_arrays(numbered),
        **question_arrays(numbered),
        **answer_arrays(numbered),
        **grant_arrays(numbered),
        **_snapshots(numbered),
    }


def rests(operations: Sequence[RestOperation]) -> Arrays:
    positions = NumberArray.of([op.position for op in operations])
    return {**fences(operations), "position": positions}


def accepts(operations: Sequence[Accept], now: float, shard: int) -> Arrays:
    return {
        "account": TextArray.of([op.inbound.account for op in operations]),
        "message": TextArray.of([op.inbound.id for op in operations]),
        "key": TextArray.of([op.inbound.session for op in operations]),
        "opens": TextArray.of([op.opens for op in operations]),
        "kind": TextArray.of([op.kind for op in operations]),
        "event": Blobs.of([op.event for op in operations]),
        "event_at": Times.of([op.inbound.at for op in operations]),
        "now": now,
        "shard": shard,
        **_places(operations),
    }


def _places(operations: Sequence[Accept]) -> Arrays:
    """Return the arrays for the directory: messages that carry the name of their chat."""
    rows = [(n, op.inbound) for n, op in enumerate(operations, start=1) if op.inbound.place]
    if not rows:
        return {}
    return {
        "d_n": NumberArray.of([n for n, _ in rows]),
        **_addresses("d", [inbound.address for _, inbound in rows]),
        "d_name": TextArray.of([sound(inbound.place) for _, inbound in rows]),
    }


def _addresses(prefix: str, addresses: Sequence[Address]) -> Arrays:
    return {
        f"{prefix}_platform": TextArray.of([sound(address.platform) for address in addresses]),
        f"{prefix}_chat": TextArray.of([sound(address.chat) for address in addresses]),
        f"{prefix}_thread": TextArray.of([sound(address.thread) for address in addresses]),
        f"{prefix}_account": TextArray.of([sound(address.account) for address in addresses]),
    }


Numbered = Sequence[tuple[int, Commit]]


def _events(commits: Numbered) -> Arrays:
    rows = [
        (n, i, commit.key, event)
        for n, commit in commits
        for i, event in enumerate(commit.events, start=1)
    ]
    return {
        "e_n": NumberArray.of([n for n, _, _, _ in rows]),
        "e_i": NumberArray.of([i for _, i, _, _ in rows]),
        "e_key": TextArray.of([key for _, _, key, _ in rows]),
        "e_kind": TextArray.of([event.kind for _, _, _, event in rows]),
        "e_event": Blobs.of([event.body for _, _, _, event in rows]),
        "e_at": Times.of([event.at for _, _, _, event in rows]),
    }


def _messages(commits: Numbered) -> Arrays:
    rows = [(n, row) for n, commit in commits for row in commit.rows]
    if not rows:
        return {}
    return {
        "m_n": NumberArray.of([n for n, _ in rows]),
        "m_session": TextArray.of([row.session for _, row in rows]),
        "m_ordinal": NumberArray.of([row.ordinal for _, row in rows]),
        "m_role": TextArray.of([row.line.role for _, row in rows]),
        "m_at": Times.of([row.line.at for _, row in rows]),
        "m_line": Blobs.of([encode(row.line) for _, row in rows]),
    }


def _replies(commits: Numbered) -> Arrays:
    rows = [(n, commit.at, reply) for n, commit in commits for reply in commit.replies]
    if not rows:
        return {}
    return {
        "r_n": NumberArray.of([n for n, _, _ in rows]),
        "r_id": TextArray.of([reply.id for _, _, reply in rows]),
        "r_key": TextArray.of([reply.session for _, _, reply in rows]),
        "r_platform": TextArray.of([reply.address.platform for _, _, reply in rows]),
        "r_chat": TextArray.of([sound(reply.address.chat) for _, _, reply in rows]),
        "r_reply": Blobs.of([encode(reply) for _, _, reply in rows]),
        "r_at": Times.of([at for _, at, _ in rows]),
        "r_ordered": Flags.of([reply.kind != "removal" for _, _, reply in rows]),
    }


def _turns(commits: Numbered) -> Arrays:
    rows = [(n, turn) for n, commit in commits for turn in commit.turns]
    if not rows:
        return {}
    bases = {n: commit.base for n, commit in commits}
    return {
        "t_n": NumberArray.of([n for n, _ in rows]),
        "t_base": NumberArray.of([bases[n] for n, _ in rows]),
        "t_id": TextArray.of([turn.id for _, turn in rows]),
        "t_key": TextArray.of([turn.key for _, turn in rows]),
        "t_session": TextArray.of([turn.session for _, turn in rows]),
        "t_state": TextArray.of([turn.state for _, turn in rows]),
        "t_attempts": NumberArray.of([turn.attempts for _, turn in rows]),
        "t_started": Times.of([turn.started_at for _, turn in rows]),
        "t_ended": Times.of([turn.ended_at for _, turn in rows]),
        "t_first": NumberArray.of([turn.first for _, turn in rows]),
    }


def _conversations(operations: Sequence[Append]) -> Arrays:
    """Return the arrays of the conversations that the commits open."""
    rows = [(n, op.lane, each) for n, op in enumerate(operations, start=1) for each in op.opened]
    if not rows:
        return {}
    return {
        "c_n": NumberArray.of([n for n, _, _ in rows]),
        "c_key": TextArray.of([key for _, key, _ in rows]),
        "c_id": TextArray.of([opened.id for _, _, opened in rows]),
        "c_at": Times.of([opened.at for _, _, opened in rows]),
        "c_title": TextArray.of([opened.title for _, _, opened in rows]),
    }


def _titles(operations: Sequence[Append]) -> Arrays:
    """Return the arrays of new titles for conversations that were current before."""
    numbered = enumerate(operations, start=1)
    rows = [(n, op.lane, op.title) for n, op in numbered if op.title is not None]
    if not rows:
        return {}
    return {
        "x_n": NumberArray.of([n for n, _, _ in rows]),
        "x_key": TextArray.of([key for _, key, _ in rows]),
        "x_title": TextArray.of([title for _, _, title in rows]),
    }


def _homes(operations: Sequence[Append]) -> Arrays:
    rows = [(n, op.lane, home) for n, op in enumerate(operations, start=1) for home in op.homes]
    if not rows:
        return {}
    return {
        "h_n": NumberArray.of([n for n, _, _ in rows]),
        "h_i": NumberArray.of([home.i for _, _, home in rows]),
        "h_key": TextArray.of([key for _, key, _ in rows]),
        **_addresses("h", [home.address for _, _, home in rows]),
        "h_at": Times.of([home.at for _, _, home in rows]),
    }


def _snapshots(commits: Numbered) -> Arrays:
    rows = [(n, commit) for n, commit in commits if commit.snapshot]
    if not rows:
        return {}
    return {
        "p_n": NumberArray.of([n for n, _ in rows]),
        "p_key": TextArray.of([commit.key for _, commit in rows]),
        "p_before": NumberArray.of([commit.base for _, commit in rows]),
        "p_position": NumberArray.of([commit.after.position for _, commit in rows]),
        "p_state": Blobs.of([encode(commit.after) for _, commit in rows]),
    }
