"""Listings and search over all sessions. All tables here can be rebuilt from the journal."""

from collections import Counter
from collections.abc import Sequence

from hermes.core.codec import decode_event, decode_line
from hermes.core.errors import Rejected
from hermes.core.events import Event, Span
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import sound
from hermes.core.projection import QuestionRow, TurnRow
from hermes.core.recall import Scope
from hermes.core.store import (
    ChatRow,
    ConversationRow,
    Counts,
    Found,
    Home,
    SessionRow,
    Spending,
    UsageSum,
)
from hermes.stores.hits import SearchRequest
from hermes.stores.listing import (
    chat_row,
    conversation_row,
    home_row,
    question_row,
    session_row,
    tool_sum,
    turn_row,
    usage_sum,
)
from hermes.stores.postgres.connections import Connection, Dialer, PooledConnection, Readers
from hermes.stores.postgres.index import Index
from hermes.stores.postgres.nodes import PostgresNodes
from hermes.stores.postgres.rebuild import rebuild_all
from hermes.stores.postgres.statements import QUERY, UPKEEP
from hermes.stores.words import parse_query


class PostgresLibrary:
    def __init__(
        self,
        dialer: Dialer,
        readers: Readers,
        control: PooledConnection,
        nodes: PostgresNodes,
        index: Index,
    ) -> None:
        self._dialer = dialer
        self._readers = readers
        self._control = control
        self._nodes = nodes
        self._index = index

    async def sessions(self, *, limit: int, before: float | None = None) -> Sequence[SessionRow]:
        found = await self._readers.fetch(QUERY["sessions"], limit=limit, before=before)
        return [session_row(*row) for row in found]

    async def find(self, name: str) -> SessionRow | None:
        if not name or name != sound(name):
            return None
        found = await self._readers.fetch(QUERY["find"], name=name)
        found = found or await self._readers.fetch(QUERY["find_prefix"], name=name)
        return session_row(*found[0]) if len(found) == 1 else None

    async def turns(self, *, limit: int, key: SessionKey | None = None) -> Sequence[TurnRow]:
        found = await self._readers.fetch(QUERY["turns"], limit=limit, key=key)
        return [turn_row(*row) for row in found]

    async def turn(self, turn: TurnId) -> TurnRow | None:
        found = await self._readers.fetch(QUERY["turn"], turn=sound(turn))
        return turn_row(*found[0]) if found else None

    async def events(
        self, key: SessionKey, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Event]:
        found = await self._readers.fetch(QUERY["since"], key=key, position=after, limit=limit)
        return [decode_event(event) for (event,) in found]

    async def records(self, key: SessionKey, *, after: int, limit: int) -> Sequence[bytes]:
        found = await self._readers.fetch(QUERY["since"], key=key, position=after, limit=limit)
        return [event for (event,) in found]

    async def search(
        self, question: str, *, scope: Scope, limit: int, hidden: Sequence[Span] = ()
    ) -> Found:
        meant = parse_query(question)
        wanted = SearchRequest(question=meant, scope=scope, limit=limit, hidden=tuple(hidden))
        return await self._index.search(wanted) if meant.wanted else Found(notes=meant.notes)

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]:
        if key is None:
            ids = await self._readers.fetch(QUERY["latest_conversations"], limit=limit)
        else:
            ids = await self._readers.fetch(QUERY["lane_conversations"], key=key)
        names = [id_ for (id_,) in ids]
        found = await self._readers.fetch(QUERY["conversations"], ids=names, limit=limit)
        return [conversation_row(*row, line and decode_line(line).text) for *row, line in found]

    async def in_phase(self, phase: str, *, limit: int) -> Sequence[SessionRow]:
        found = await self._readers.fetch(QUERY["in_phase"], phase=sound(phase), limit=limit)
        return [session_row(*row) for row in found]

    async def chats(self, *, limit: int) -> Sequence[ChatRow]:
        return [chat_row(*row) for row in await self._readers.fetch(QUERY["chats"], limit=limit)]

    async def homes(self) -> Sequence[Home]:
        return [home_row(*row) for row in await self._readers.fetch(QUERY["homes"])]

    async def counts(self) -> Counts:
        [(sessions, waiting)] = await self._readers.fetch(QUERY["totals"])
        phases, marks = Counter[str](), Counter[str]()
        for phase, mark, count in await self._readers.fetch(QUERY["phases"]):
            phases[phase] += count
            marks[mark] += count if mark else 0
        outbox = await self._readers.fetch(QUERY["outbox_states"])
        return Counts(
            sessions=sessions,
            running=phases["running"],
            asking=phases["asking"],
            suspended=phases["suspended"],
            queued=waiting,
            marks={mark: count for mark, count in marks.items() if count},
            outbox={state: count for state, count, _ in outbox},
            outbox_oldest_at=min((at for *_, at in outbox if at is not None), default=None),
        )

    async def questions(self, *, limit: int, pending: bool = False) -> Sequence[QuestionRow]:
        found = await self._readers.fetch(QUERY["questions"], limit=limit, pending=pending)
        return [question_row(*row) for row in found]

    async def question(self, id_: str) -> QuestionRow | None:
        found = await self._readers.fetch(QUERY["question"], id=sound(id_))
        return question_row(*found[0]) if found else None

    async def overdue(self, now: float, *, limit: int) -> Sequence[SessionKey]:
        found = await self._readers.fetch(QUERY["overdue"], now=now, limit=limit)
        return [SessionKey(key) for (key,) in found]

    async def usage(self, *, since: float, until: float, limit: int = 1_000) -> Spending:
        values = {"since": since, "until": until, "limit": limit}
        sums = await self._readers.fetch(QUERY["usage"], **values)
        tools = await self._readers.fetch(QUERY["tools"], **values)
        return Spending(
            sums=tuple(usage_sum(*row) for row in sums),
            tools=tuple(tool_sum(*row) for row in tools),
        )

    async def spent(
        self,
        *,
        since: float,
        key: SessionKey | None = None,
        conversation: SessionId | None = None,
        person: str | None = None,
    ) -> Sequence[UsageSum]:
        who = None if person is None else sound(person)
        found = await self._readers.fetch(
            QUERY["spent"], since=since, key=key, conversation=conversation, person=who
        )
        return [usage_sum(*row) for row in found]

    async def delete(self, key: SessionKey) -> bool:
        """Delete a session. Wait for a write in progress, so that none of its rows are left."""
        values = {"key": key, "shard": self._dialer.shard}

        async def remove(connection: Connection) -> bool:
            async with connection.transaction():
                held = await connection.execute(UPKEEP["hold"], {"key": key})
                if not held.rowcount:
                    return False
                gone = await connection.execute(UPKEEP["delete"], values)
                if not gone.rowcount:
                    raise Rejected(f"{key} is running. Stop its turn first, then delete it.")
                return True

        await self._nodes.bury_gone()
        return await self._control.run(remove)

    async def rebuild(self) -> None:
        await rebuild_all(self._dialer)
