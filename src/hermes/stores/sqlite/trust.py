"""People who may talk to Hermes, and permanent grants. Each change commits with its audit entry."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from hermes.core.messages import sound
from hermes.core.people import Role
from hermes.core.policy import GRANTS_MAX
from hermes.core.projection import Commit
from hermes.core.trust import AdmissionRequest, Invite, KnownPerson, TrustRegister
from hermes.stores import trusted
from hermes.stores.sqlite.audit import SqliteChain
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.wakeup import SqliteWakeUp
from hermes.stores.sqlite.writer import SqliteWriter

T = TypeVar("T")

VERSION = "SELECT version FROM standing"
CHANGED = "UPDATE standing SET version = version + 1"
PEOPLE = "SELECT platform, id, role, name, chat, since, by FROM people"
KNOW = "INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?, ?, ?, ?)"
GRANTS = "SELECT body FROM grants WHERE expires_at > ? ORDER BY n DESC"
GRANT = "INSERT OR IGNORE INTO grants (id, body, expires_at) VALUES (?, ?, ?)"
ENDED = """
DELETE FROM grants WHERE expires_at <= ?1
OR n NOT IN (SELECT n FROM grants ORDER BY n DESC LIMIT ?2)
"""
INVITE = """
INSERT OR REPLACE INTO invites (digest, role, made_at, expires_at, by) VALUES (?, ?, ?, ?, ?)
"""
REDEEM = """
UPDATE invites SET used_at = ?1 WHERE digest = ?2 AND used_at IS NULL AND expires_at > ?1
AND made_at <= ?1 + 3600 -- later: a clock was set back since, and the time of it means nothing
RETURNING role, by
"""
OVER = "DELETE FROM invites WHERE expires_at <= ?"
REQUEST = "SELECT id, platform, person, chat, name, text, at FROM requests"
ASK = """
INSERT OR IGNORE INTO requests (id, platform, person, chat, name, text, at)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
CROWD = "DELETE FROM requests WHERE n NOT IN (SELECT n FROM requests ORDER BY n DESC LIMIT ?)"
SETTLED = "DELETE FROM requests WHERE platform = ? AND person = ?"
UNSEND = f"""
UPDATE outbox SET state = 'abandoned', problem = '{trusted.REVOKED}'
WHERE state IN ('pending', 'sending', 'failed') AND platform = ? AND chat = ?
"""


class SqliteTrust:
    def __init__(
        self,
        writer: SqliteWriter,
        reader: SqliteReader,
        bell: SqliteWakeUp,
        clock: Callable[[], float],
        chain: SqliteChain,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._bell = bell
        self._clock = clock
        self._chain = chain

    async def version(self) -> int:
        return self._reader.now(version)

    async def register(self) -> TrustRegister:
        now = self._clock()

        def look(db: apsw.Cursor) -> TrustRegister:
            people = [trusted.known_row(*row) for row in rows(db, PEOPLE)]
            return TrustRegister(
                version=version(db),
                people={(known.platform, known.id): known for known in people},
                grants=trusted.readable_grants(rows(db, GRANTS, (now,))),
            )

        return self._reader.now(look)

    async def invite(self, invite: Invite) -> None:
        def work(db: apsw.Cursor) -> None:
            db.execute(OVER, (invite.made_at,))
            times = (invite.made_at, invite.expires_at)
            db.execute(INVITE, (sound(invite.digest), int(invite.role), *times, sound(invite.by)))
            self._chain.write(db, [trusted.invited(invite)])

        await self._writer.write(work)

    async def redeem(self, digest: str, known: KnownPerson) -> KnownPerson | None:
        def work(db: apsw.Cursor) -> KnownPerson | None:
            for role, by in rows(db, REDEEM, (known.since, sound(digest))):
                was = _find_person(db, known)
                let_in = trusted.with_invite(known, Role(role), was.role if was else None, by)
                _know(db, let_in)
                self._chain.write(db, [trusted.redeemed(let_in, digest)])
                return let_in
            return None

        return self._ringing(await self._writer.write(work))

    async def ask(self, request: AdmissionRequest, *, most: int) -> bool:
        def work(db: apsw.Cursor) -> bool:
            db.execute(ASK, trusted.request_values(request))
            if db.connection.changes() == 0:
                return False
            db.execute(CROWD, (most,))
            self._chain.write(db, [trusted.asked_in(request)])
            return True

        return self._ringing(await self._writer.write(work))

    async def requests(self) -> Sequence[AdmissionRequest]:
        found = self._reader.now(lambda db: rows(db, f"{REQUEST} ORDER BY n"))
        return [trusted.request_row(*row) for row in found]

    async def admit(self, known: KnownPerson, *, request: str = "") -> bool:
        who = (sound(known.platform), sound(known.id))

        def work(db: apsw.Cursor) -> bool:
            if request:
                sql = f"{REQUEST} WHERE platform = ? AND person = ? AND id = ?"
                if not rows(db, sql, (*who, sound(request))):
                    return False
            _know(db, known)
            self._chain.write(db, [trusted.admitted(known, request)])
            return True

        return self._ringing(await self._writer.write(work))

    async def revoke(self, known: KnownPerson) -> None:
        def work(db: apsw.Cursor) -> None:
            was, unsent = _find_person(db, known), 0
            for chat in trusted.chats_of(known, was.chat if was else ""):
                db.execute(UNSEND, (sound(known.platform), chat))
                unsent += db.connection.changes()
            away = trusted.as_stranger(known)
            _know(db, away)
            self._chain.write(db, [trusted.sent_away(away, unsent)])

        await self._writer.write(work)
        self._bell.ring()

    async def dismiss(self, request: str, *, by: str, at: float) -> bool:
        def work(db: apsw.Cursor) -> bool:
            sql = "DELETE FROM requests WHERE id = ? RETURNING platform, person"
            for platform, person in rows(db, sql, (sound(request),)):
                who = f"{platform}:{person}"
                self._chain.write(db, [trusted.dismissed(request, who, by, at)])
                return True
            return False

        return self._ringing(await self._writer.write(work))

    async def revoke_grant(self, grant: str, *, by: str, at: float) -> bool:
        def work(db: apsw.Cursor) -> bool:
            db.execute(ENDED, (at, GRANTS_MAX))
            for (raw,) in rows(db, "SELECT body FROM grants WHERE id = ?", (sound(grant),)):
                revoked = trusted.grant_revoked(trusted.decode_grant(raw), by, at)
                db.execute("DELETE FROM grants WHERE id = ?", (sound(grant),))
                db.execute(CHANGED)
                self._chain.write(db, [revoked])
                return True
            return False

        return self._ringing(await self._writer.write(work))

    def _ringing(self, result: T) -> T:
        """Wake other processes, which then reload the register, and return the result."""
        if result:
            self._bell.ring()
        return result


def version(db: apsw.Cursor) -> int:
    return int(db.execute(VERSION).get)


def add_grants(db: apsw.Cursor, commit: Commit) -> None:
    """Store the grants that a person made with this commit."""
    for grant in commit.grants:
        db.execute(GRANT, (grant.id, trusted.encode_grant(grant), grant.expires_at))
        if db.connection.changes():
            db.execute(CHANGED)
    db.execute(ENDED, (commit.at, GRANTS_MAX))


def _find_person(db: apsw.Cursor, known: KnownPerson) -> KnownPerson | None:
    who = (sound(known.platform), sound(known.id))
    found = rows(db, f"{PEOPLE} WHERE platform = ? AND id = ?", who)
    return trusted.known_row(*found[0]) if found else None


def _know(db: apsw.Cursor, known: KnownPerson) -> None:
    """Store a person and close their admission requests."""
    platform, id_, *_ = row = trusted.person_values(known)
    db.execute(KNOW, row)
    db.execute(SETTLED, (platform, id_))
    db.execute(CHANGED)
