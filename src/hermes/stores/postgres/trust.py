"""People who may talk to Hermes, and permanent grants. Each change commits with its audit entry."""

from collections.abc import Callable, Sequence

from hermes.core.audit import AuditEntry
from hermes.core.messages import sound
from hermes.core.people import Role
from hermes.core.trust import AdmissionRequest, Invite, KnownPerson, TrustRegister
from hermes.stores import trusted
from hermes.stores.postgres.audit import AuditLedger
from hermes.stores.postgres.connections import Connection, Readers, Row
from hermes.stores.postgres.statements import QUERY

NOTHING: Sequence[AuditEntry] = ()


class PostgresTrust:
    def __init__(self, readers: Readers, ledger: AuditLedger, clock: Callable[[], float]) -> None:
        self._readers = readers
        self._ledger = ledger
        self._clock = clock

    async def version(self) -> int:
        [(version,)] = await self._readers.fetch(QUERY["version"])
        return int(version)

    async def register(self) -> TrustRegister:
        """Return the trust register. Its version is read first: with a newer content a decision is
        merely made once more."""
        version = await self.version()
        people = [trusted.known_row(*row) for row in await self._readers.fetch(QUERY["people"])]
        grants = await self._readers.fetch(QUERY["grants"], now=self._clock())
        return TrustRegister(
            version=version,
            people={(known.platform, known.id): known for known in people},
            grants=trusted.readable_grants(grants),
        )

    async def invite(self, invite: Invite) -> None:
        async def work(connection: Connection) -> tuple[None, Sequence[AuditEntry]]:
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

    async def redeem(self, digest: str, known: KnownPerson) -> KnownPerson | None:
        async def work(connection: Connection) -> tuple[KnownPerson | None, Sequence[AuditEntry]]:
            values = {"at": known.since, "digest": sound(digest)}
            for role, by in await _run(connection, "redeem", **values):
                was = await _find_person(connection, known)
                let_in = trusted.with_invite(known, Role(role), was.role if was else None, by)
                await _know(connection, let_in)
                return let_in, [trusted.redeemed(let_in, digest)]
            return None, NOTHING

        return await self._ledger.do(work)

    async def ask(self, request: AdmissionRequest, *, most: int) -> bool:
        names = ("id", "platform", "person", "chat", "name", "text", "at")
        values = dict(zip(names, trusted.request_values(request), strict=True))

        async def work(connection: Connection) -> tuple[bool, Sequence[AuditEntry]]:
            if not await _run(connection, "ask", **values):
                return False, NOTHING
            await _run(connection, "crowd", most=most)
            await _run(connection, "tell_all")
            return True, [trusted.asked_in(request)]

        return await self._ledger.do(work)

    async def requests(self) -> Sequence[AdmissionRequest]:
        found = await self._readers.fetch(QUERY["requests"])
        return [trusted.request_row(*row) for row in found]

    async def admit(self, known: KnownPerson, *, request: str = "") -> bool:
        async def work(connection: Connection) -> tuple[bool, Sequence[AuditEntry]]:
            values = {"request": sound(request), **_who(known)}
            if request and not await _run(connection, "take_request", **values):
                return False, NOTHING
            await _know(connection, known)
            return True, [trusted.admitted(known, request)]

        return await self._ledger.do(work)

    async def revoke(self, known: KnownPerson) -> None:
        async def work(connection: Connection) -> tuple[None, Sequence[AuditEntry]]:
            was = await _find_person(connection, known)
            away = trusted.as_stranger(known)
            await _know(connection, away)
            chats = list(trusted.chats_of(known, was.chat if was else ""))
            values = {"platform": sound(known.platform), "chats": chats, "why": trusted.REVOKED}
            unsent = await connection.execute(QUERY["unsend"], values)
            return None, [trusted.sent_away(away, unsent.rowcount)]

        await self._ledger.do(work)

    async def dismiss(self, request: str, *, by: str, at: float) -> bool:
        values = {"request": sound(request), "platform": None, "id": None}

        async def work(connection: Connection) -> tuple[bool, Sequence[AuditEntry]]:
            for platform, person in await _run(connection, "take_request", **values):
                return True, [trusted.dismissed(request, f"{platform}:{person}", by, at)]
            return False, NOTHING

        return await self._ledger.do(work)

    async def revoke_grant(self, grant: str, *, by: str, at: float) -> bool:
        async def work(connection: Connection) -> tuple[bool, Sequence[AuditEntry]]:
            for (raw,) in await _run(connection, "end_grant", id=sound(grant)):
                await _run(connection, "changed")
                await _run(connection, "tell_all")
                return True, [trusted.grant_revoked(trusted.decode_grant(raw), by, at)]
            return False, NOTHING

        return await self._ledger.do(work)


async def _run(connection: Connection, query: str, /, **values: object) -> list[Row]:
    cursor = await connection.execute(QUERY[query], values, binary=True)
    return await cursor.fetchall() if cursor.description is not None else []


async def _find_person(connection: Connection, known: KnownPerson) -> KnownPerson | None:
    found = await _run(connection, "person", **_who(known))
    return trusted.known_row(*found[0]) if found else None


async def _know(connection: Connection, known: KnownPerson) -> None:
    """Store a person and close their admission requests. Decisions made by the old register are
    refused from here on."""
    names = ("platform", "id", "role", "name", "chat", "since", "by")
    await _run(connection, "know", **dict(zip(names, trusted.person_values(known), strict=True)))
    await _run(connection, "settled", **_who(known))
    await _run(connection, "changed")
    await _run(connection, "tell_all")


def _who(known: KnownPerson) -> dict[str, object]:
    return {"platform": sound(known.platform), "id": sound(known.id)}
