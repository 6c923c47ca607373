"""Who may come in, and what was allowed for good. Each change is one commit, with its entry."""

from collections.abc import Callable, Sequence

from hermes.core.audit import Entry
from hermes.core.messages import sound
from hermes.core.people import Role
from hermes.core.trust import Invite, Known, Register, Request
from hermes.stores import trusted
from hermes.stores.postgres.audit import Ledger
from hermes.stores.postgres.connections import Connection, Readers, Row
from hermes.stores.postgres.statements import QUERY

NOTHING: Sequence[Entry] = ()


class PostgresTrust:
    def __init__(self, readers: Readers, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._readers = readers
        self._ledger = ledger
        self._clock = clock

    async def version(self) -> int:
        [(version,)] = await self._readers.fetch(QUERY["version"])
        return int(version)

    async def register(self) -> Register:
        """The version is read first: what is newer than it is only decided once more."""
        version = await self.version()
        people = [trusted.known_row(*row) for row in await self._readers.fetch(QUERY["people"])]
        grants = await self._readers.fetch(QUERY["grants"], now=self._clock())
        return Register(
            version=version,
            people={(known.platform, known.id): known for known in people},
            grants=trusted.readable_grants(grants),
        )

    async def invite(self, invite: Invite) -> None:
        async def work(connection: Connection) -> tuple[None, Sequence[Entry]]:
            await _run(connection, "end_invites", now=invite.made_at)
            await _run(
                connection,
                "invite",
                digest=sound(invite.digest),
                role=int(invite.role),
                made_at=invite.made_at,
                expires_at=invite.expires_at,
                by=sound(invite.by),
            )
            return None, [trusted.invited(invite)]

        await self._ledger.do(work)

    async def redeem(self, digest: str, known: Known) -> Known | None:
        async def work(connection: Connection) -> tuple[Known | None, Sequence[Entry]]:
            values = {"at": known.since, "digest": sound(digest)}
            for role, by in await _run(connection, "redeem", **values):
                was = await _known(connection, known)
                let_in = trusted.with_invite(known, Role(role), was.role if was else None, by)
                await _know(connection, let_in)
                return let_in, [trusted.redeemed(let_in, digest)]
            return None, NOTHING

        return await self._ledger.do(work)

    async def ask(self, request: Request, *, most: int) -> bool:
        names = ("id", "platform", "person", "chat", "name", "text", "at")
        values = dict(zip(names, trusted.kept_request(request), strict=True))

        async def work(connection: Connection) -> tuple[bool, Sequence[Entry]]:
            if not await _run(connection, "ask", **values):
                return False, NOTHING
            await _run(connection, "crowd", most=most)
            await _run(connection, "tell_all")
            return True, [trusted.asked_in(request)]

        return await self._ledger.do(work)

    async def requests(self) -> Sequence[Request]:
        found = await self._readers.fetch(QUERY["requests"])
        return [trusted.request_row(*row) for row in found]

    async def admit(self, known: Known, *, request: str = "") -> bool:
        async def work(connection: Connection) -> tuple[bool, Sequence[Entry]]:
            values = {"request": sound(request), **_who(known)}
            if request and not await _run(connection, "take_request", **values):
                return False, NOTHING
            await _know(connection, known)
            return True, [trusted.admitted(known, request)]

        return await self._ledger.do(work)

    async def revoke(self, known: Known) -> None:
        async def work(connection: Connection) -> tuple[None, Sequence[Entry]]:
            was = await _known(connection, known)
            away = trusted.as_stranger(known)
            await _know(connection, away)
            chats = list(trusted.chats_of(known, was.chat if was else ""))
            values = {"platform": sound(known.platform), "chats": chats, "why": trusted.REVOKED}
            unsent = await connection.execute(QUERY["unsend"], values)
            return None, [trusted.sent_away(away, unsent.rowcount)]

        await self._ledger.do(work)

    async def dismiss(self, request: str, *, by: str, at: float) -> bool:
        values = {"request": sound(request), "platform": None, "id": None}

        async def work(connection: Connection) -> tuple[bool, Sequence[Entry]]:
            for platform, person in await _run(connection, "take_request", **values):
                return True, [trusted.dismissed(request, f"{platform}:{person}", by, at)]
            return False, NOTHING

        return await self._ledger.do(work)

    async def revoke_grant(self, grant: str, *, by: str, at: float) -> bool:
        async def work(connection: Connection) -> tuple[bool, Sequence[Entry]]:
            for (raw,) in await _run(connection, "end_grant", id=sound(grant)):
                await _run(connection, "changed")
                await _run(connection, "tell_all")
                return True, [trusted.grant_revoked(trusted.decode_grant(raw), by, at)]
            return False, NOTHING

        return await self._ledger.do(work)


async def _run(connection: Connection, query: str, /, **values: object) -> list[Row]:
    cursor = await connection.execute(QUERY[query], values, binary=True)
    return await cursor.fetchall() if cursor.description is not None else []


async def _known(connection: Connection, known: Known) -> Known | None:
    found = await _run(connection, "person", **_who(known))
    return trusted.known_row(*found[0]) if found else None


async def _know(connection: Connection, known: Known) -> None:
    """Whoever is known does not ask any more. Nothing decided by the old register is written from
    here on."""
    names = ("platform", "id", "role", "name", "chat", "since", "by")
    await _run(connection, "know", **dict(zip(names, trusted.kept(known), strict=True)))
    await _run(connection, "settled", **_who(known))
    await _run(connection, "changed")
    await _run(connection, "tell_all")


def _who(known: Known) -> dict[str, object]:
    return {"platform": sound(known.platform), "id": sound(known.id)}
