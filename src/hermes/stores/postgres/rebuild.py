"""Rebuild the projections from the journal, one session at a time, beside running writers.

People, invites, requests, grants and the audit log are left alone: the journal does not record what
was revoked, or by whom.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.core.codec import encode
from hermes.core.errors import Refused, RowUnreadable
from hermes.core.events import Event, HomeSet, MessageReceived, SessionReset
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.job_events import JobChange, JobSet
from hermes.core.job_rows import row_after
from hermes.core.jobs import JobRow, job_of
from hermes.core.messages import Address, Inbound, sound
from hermes.core.projection import MessageRow, QuestionRow, TurnRow, at_of, commit_of, summary_of
from hermes.core.salvage import readable
from hermes.core.session import Session
from hermes.core.store import Home
from hermes.stores.postgres.accounts import call_values, usage_values
from hermes.stores.postgres.connections import Connection, Dialer, apart
from hermes.stores.postgres.jobs import job_values
from hermes.stores.postgres.questions import question_values, settled
from hermes.stores.postgres.statements import QUERY, UPKEEP

KEYS_MAX = 500
LATEST_S = 1e11


@dataclass
class Projection:
    """All that a journal says about its session, apart from deliveries and ownership."""

    session: Session
    head: int = 0  # events in the journal, whether they can be read or not
    written: int = 0
    opened: dict[SessionId, float] = field(default_factory=dict)
    titles: dict[SessionId, str] = field(default_factory=dict)
    rows: list[MessageRow] = field(default_factory=list)
    turns: dict[TurnId, TurnRow] = field(default_factory=dict)
    homes: dict[int, Home] = field(default_factory=dict)  # by the position of its event
    usage: list[dict[str, object]] = field(default_factory=list)
    calls: list[dict[str, object]] = field(default_factory=list)
    questions: dict[str, QuestionRow] = field(default_factory=dict)
    places: dict[Address, Inbound] = field(default_factory=dict)  # the last message that named it
    job: JobRow | None = None


def projected(key: SessionKey, stored: Sequence[bytes]) -> Projection:
    """Fold the events one by one, as far as they can be read, and collect what each makes true.
    Pure."""
    result = Projection(Session(key=key), head=len(stored))
    with suppress(RowUnreadable, Refused):
        for before, event, after in readable(result.session, stored):
            if after.salvaged and not before.salvaged:
                _abandon(result, at_of(event))
            _collect(result, before, event, after)
    return result


def _abandon(result: Projection, at: float) -> None:
    """End everything that was open before an event that cannot be read."""
    for id_, turn in result.turns.items():
        if turn.ended_at is None:
            result.turns[id_] = replace(turn, state="failed", ended_at=at)
    for question in list(result.questions.values()):
        if question.state == "pending":
            del result.questions[question.id]


def _collect(result: Projection, before: Session, event: Event, after: Session) -> None:
    commit, key = commit_of(before, (event,)), after.key
    match event:
        case MessageReceived(inbound=inbound, opens=opens):
            if not before.id:
                result.opened[opens] = commit.at
            if inbound.place:
                result.places[_stored(inbound.address)] = inbound
        case SessionReset(opens=opens, at=at):
            result.opened[opens] = at
        case JobSet(opens=opens, at=at) if not before.id:
            result.opened[opens] = at
        case HomeSet(address=address, at=at):
            result.homes[after.position] = Home(address=_stored(address), at=at)
    if not isinstance(event, MessageReceived | JobChange):
        result.written = after.position
    result.titles[after.id] = after.facts.title
    result.rows += commit.rows
    result.usage += (usage_values(key, commit.base, row) for row in commit.usage)
    result.calls += (call_values(key, commit.base, row) for row in commit.calls)
    for question in commit.questions:
        result.questions.setdefault(question.id, question)
    for answer in commit.answers:
        if (asked := result.questions.get(answer.id)) is not None:
            result.questions[answer.id] = settled(asked, (answer,))
    result.turns.update({turn.id: turn for turn in commit.turns})
    if job_of(key):
        result.job = row_after(result.job, key, event)
    result.session = after


async def rebuild_all(dialer: Dialer) -> None:
    async with apart(dialer) as connection:
        await connection.execute(UPKEEP["adopt"])
        await connection.execute(UPKEEP["orphans"])
        await connection.execute(UPKEEP["orphan_words"])
        after = ""
        while keys := await _keys(connection, after):
            for key in keys:
                async with connection.transaction():
                    await _rebuild(connection, key)
            after = keys[-1]
        async with connection.transaction():
            for name in ("lock_tally", "wipe_tally", "count_again"):
                await connection.execute(UPKEEP[name])


async def _keys(connection: Connection, after: str) -> Sequence[SessionKey]:
    cursor = await connection.execute(UPKEEP["keys"], {"after": after, "limit": KEYS_MAX})
    return [SessionKey(key) for (key,) in await cursor.fetchall()]


async def _rebuild(connection: Connection, key: SessionKey) -> None:
    """Rebuild one session under the lock of its row, so that no process writes to it meanwhile."""
    held = await connection.execute(UPKEEP["hold"], {"key": key})
    if not held.rowcount:
        return  # deleted meanwhile; if it is there again, its writer keeps the rows right
    values = {"key": key, "position": 0, "limit": None}
    cursor = await connection.execute(QUERY["since"], values, binary=True)
    result = projected(key, [event for (event,) in await cursor.fetchall()])
    await connection.execute(UPKEEP["wipe"], {"key": key, "ids": list(result.opened)})
    await connection.execute(UPKEEP["wipe_homes"], {"key": key, "positions": list(result.homes)})
    await connection.execute(UPKEEP["wipe_chats"], {"key": key, **_addresses(result.places)})
    async with connection.cursor() as cursor:
        await cursor.executemany(UPKEEP["put_conversation"], _conversations(result))
        await cursor.executemany(UPKEEP["put_message"], [_message(row) for row in result.rows])
        await cursor.executemany(UPKEEP["put_turn"], [_turn(t) for t in result.turns.values()])
        await cursor.executemany(UPKEEP["put_usage"], result.usage)
        await cursor.executemany(UPKEEP["put_call"], result.calls)
        asked = [question_values(row) for row in result.questions.values()]
        await cursor.executemany(UPKEEP["put_question"], asked)
        homes = [_home(key, position, home) for position, home in result.homes.items()]
        await cursor.executemany(UPKEEP["put_home"], homes)
        places = [_chat(address, inbound) for address, inbound in result.places.items()]
        await cursor.executemany(UPKEEP["put_chat"], places)
    if result.job is not None:
        await connection.execute(QUERY["put_job"], job_values(result.job), binary=True)
    await connection.execute(UPKEEP["put_summary"], _summary(result))
    await connection.execute(UPKEEP["put_awake"], {"key": key})
    if result.session.position:
        position, state = result.session.position, encode(result.session)
        values = {"key": key, "position": position, "state": state}
        await connection.execute(UPKEEP["put_snapshot"], values)


def _summary(result: Projection) -> dict[str, object]:
    summary = summary_of(result.session)
    return {
        "key": result.session.key,
        "id": summary.id,
        "head": result.head,
        "written": result.written,
        "phase": summary.phase,
        "due_at": summary.due_at,
        "mark": summary.mark,
        "runs": summary.runs,
        "waiting": len(result.session.waiting),
        "title": sound(summary.title),
        "rows": summary.rows,
    }


def _conversations(result: Projection) -> list[dict[str, object]]:
    key, titles = result.session.key, result.titles
    return [
        {"id": id_, "key": key, "at": at, "title": sound(titles.get(id_, ""))}
        for id_, at in result.opened.items()
    ]


def _message(row: MessageRow) -> dict[str, object]:
    return {
        "session": row.session,
        "ordinal": row.ordinal,
        "role": row.line.role,
        "at": row.line.at,
        "line": encode(row.line),
    }


def _turn(turn: TurnRow) -> dict[str, object]:
    return {
        "id": turn.id,
        "key": turn.key,
        "session": turn.session,
        "state": turn.state,
        "attempts": turn.attempts,
        "started": turn.started_at,
        "ended": turn.ended_at,
        "first": turn.first,
    }


def _home(key: SessionKey, position: int, home: Home) -> dict[str, object]:
    place = {"key": key, "position": position, "n": _order(home.at), "at": home.at}
    return {**place, **_address(home.address)}


def _chat(address: Address, inbound: Inbound) -> dict[str, object]:
    seen = {"key": inbound.session, "n": _order(inbound.at), "at": inbound.at}
    return {**_address(address), **seen, "name": sound(inbound.place)}


def _order(at: float) -> int:
    """Return the order of a lost row: by its time, before all rows that were written since."""
    return int(min(max(at, 0.0), LATEST_S) * 1e6) - 2**62


def _address(address: Address) -> dict[str, object]:
    return {
        "platform": address.platform,
        "chat": address.chat,
        "thread": address.thread,
        "account": address.account,
    }


def _addresses(addresses: Iterable[Address]) -> dict[str, object]:
    columns = [_address(address) for address in addresses]
    names = ("platform", "chat", "thread", "account")
    return {name: [column[name] for column in columns] for name in names}


def _stored(address: Address) -> Address:
    """Return the address as a table stores it."""
    return Address(
        platform=sound(address.platform),
        chat=sound(address.chat),
        thread=sound(address.thread),
        account=sound(address.account),
    )
