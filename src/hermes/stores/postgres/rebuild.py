"""Make the projections anew from the journal, one session at a time, beside those who write."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hermes.core.codec import decode_event, encode
from hermes.core.events import Event, MessageReceived, SessionReset
from hermes.core.ids import SessionKey, TurnId
from hermes.core.projection import MessageRow, TurnRow, commit_of, summary_of
from hermes.core.session import Session
from hermes.stores.postgres.connections import Connection, Dialer, apart
from hermes.stores.postgres.operations import kept
from hermes.stores.postgres.statements import QUERY, UPKEEP

KEYS_MAX = 500


@dataclass
class Projection:
    """All that a journal says about its session, apart from what was sent and who owns it."""

    session: Session
    written: int = 0
    opened: list[tuple[str, float]] = field(default_factory=list)
    rows: list[MessageRow] = field(default_factory=list)
    turns: dict[TurnId, TurnRow] = field(default_factory=dict)


def projected(key: SessionKey, events: Iterable[Event]) -> Projection:
    """Pure: fold the events one by one and collect what each makes true."""
    result = Projection(Session(key=key))
    for event in events:
        commit = commit_of(result.session, (event,))
        match event:
            case MessageReceived(opens=opens) if not result.session.id:
                result.opened.append((opens, commit.at))
            case SessionReset(opens=opens, at=at):
                result.opened.append((opens, at))
        if not isinstance(event, MessageReceived):
            result.written = commit.after.position
        result.rows += commit.rows
        result.turns.update({turn.id: turn for turn in commit.turns})
        result.session = commit.after
    return result


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


async def _keys(connection: Connection, after: str) -> Sequence[SessionKey]:
    cursor = await connection.execute(UPKEEP["keys"], {"after": after, "limit": KEYS_MAX})
    return [SessionKey(key) for (key,) in await cursor.fetchall()]


async def _rebuild(connection: Connection, key: SessionKey) -> None:
    """Under the lock of the session's row: nobody writes to it meanwhile."""
    await connection.execute(UPKEEP["hold"], {"key": key})
    values = {"key": key, "position": 0, "limit": None}
    cursor = await connection.execute(QUERY["since"], values, binary=True)
    result = projected(key, [decode_event(event) for (event,) in await cursor.fetchall()])
    ids = [opened for opened, _ in result.opened]
    await connection.execute(UPKEEP["wipe"], {"key": key, "ids": ids})
    async with connection.cursor() as cursor:
        opened = [{"id": id_, "key": key, "at": at} for id_, at in result.opened]
        await cursor.executemany(UPKEEP["put_conversation"], opened)
        await cursor.executemany(UPKEEP["put_message"], [_message(row) for row in result.rows])
        await cursor.executemany(UPKEEP["put_turn"], [_turn(t) for t in result.turns.values()])
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
        "head": result.session.position,
        "written": result.written,
        "phase": summary.phase,
        "mark": summary.mark,
        "runs": summary.runs,
        "waiting": len(result.session.waiting),
        "title": kept(summary.title),
        "rows": summary.rows,
    }


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
