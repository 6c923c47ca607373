"""Rows of people and grants, and their audit entries, for both stores."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from hermes.core.audit import AuditEntry, entry
from hermes.core.errors import StoreCorrupt
from hermes.core.grants import Grant
from hermes.core.ids import SessionKey
from hermes.core.messages import sound
from hermes.core.people import Role
from hermes.core.trust import AdmissionRequest, Invite, KnownPerson

NAME_CHARS_MAX = 200
WORDS_CHARS_MAX = 1_000
DIGEST_CHARS = 12  # enough to tell invites apart
REVOKED = "its recipient was removed"

_grants = msgspec.json.Decoder(Grant)


def encode_grant(grant: Grant) -> bytes:
    return msgspec.json.encode(grant)


def decode_grant(raw: bytes) -> Grant:
    try:
        return _grants.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as broken:
        raise StoreCorrupt(f"a stored grant cannot be read: {broken}") from broken


def readable_grants(found: Iterable[tuple[Any, ...]]) -> tuple[Grant, ...]:
    """Decode grants. A grant that cannot be read allows nothing."""
    grants = []
    for (raw,) in found:
        with suppress(StoreCorrupt):
            grants.append(decode_grant(raw))
    return tuple(grants)


def known_row(*row: Any) -> KnownPerson:
    """Return a person from their row. An unknown role becomes that of a stranger."""
    platform, id_, number, name, chat, since, by = row
    role = Role(number) if number in list(Role) else Role.STRANGER
    return KnownPerson(
        platform=platform, id=id_, role=role, name=name, chat=chat, since=since, by=by
    )


def request_row(*row: Any) -> AdmissionRequest:
    id_, platform, person, chat, name, text, at = row
    return AdmissionRequest(
        id=id_, platform=platform, person=person, chat=chat, name=name, text=text, at=at
    )


def person_values(known: KnownPerson) -> tuple[str, str, int, str, str, float, str]:
    """Return a person's values in the order of the columns."""
    name, chat = sound(known.name)[:NAME_CHARS_MAX], sound(known.chat)
    who = (sound(known.platform), sound(known.id))
    return *who, int(known.role), name, chat, known.since, sound(known.by)


def request_values(request: AdmissionRequest) -> tuple[str, str, str, str, str, str, float]:
    where = (sound(request.platform), sound(request.person), sound(request.chat))
    name, text = sound(request.name)[:NAME_CHARS_MAX], sound(request.text)[:WORDS_CHARS_MAX]
    return sound(request.id), *where, name, text, request.at


def with_invite(known: KnownPerson, role: Role, was: Role | None, by: str) -> KnownPerson:
    """Return the person with the role of an invite. An invite never lowers a role."""
    best = role if was is None else min(role, was)
    return msgspec.structs.replace(known, role=best, by=known.by or by)


def as_stranger(known: KnownPerson) -> KnownPerson:
    return msgspec.structs.replace(known, role=Role.STRANGER)


def chats_of(known: KnownPerson, noted: str) -> tuple[str, ...]:
    """Return the private chats with this person; `noted` is the chat in which they were
    admitted."""
    return tuple({sound(chat) for chat in (known.id, known.chat, noted) if chat})


def says_session(key: SessionKey) -> bytes:
    """Return the bytes by which entries about this session are found. They occur nowhere else,
    because a quote inside a text is escaped."""
    return b'"session":' + msgspec.json.encode(sound(key))


# ── the log ─────────────────────────────────────────────────────────────────────────────────────


def invited(invite: Invite) -> AuditEntry:
    return entry(
        "invited",
        invite.made_at,
        invite=invite.digest[:DIGEST_CHARS],
        role=invite.role.name.lower(),
        expires_at=invite.expires_at,
        by=sound(invite.by),
    )


def redeemed(known: KnownPerson, digest: str) -> AuditEntry:
    return _of(known, "redeemed", invite=digest[:DIGEST_CHARS])


def asked_in(request: AdmissionRequest) -> AuditEntry:
    id_, platform, person, chat, name, _, at = request_values(request)
    who = f"{platform}:{person}"
    return entry("asked_in", at, request=id_, who=who, name=name, where=f"{platform}:{chat}")


def admitted(known: KnownPerson, request: str) -> AuditEntry:
    return _of(known, "admitted", request=sound(request))


def sent_away(known: KnownPerson, unsent: int) -> AuditEntry:
    return _of(known, "sent_away", unsent=unsent or None)


def dismissed(request: str, who: str, by: str, at: float) -> AuditEntry:
    return entry("dismissed", at, request=sound(request), who=who, by=sound(by))


def grant_revoked(grant: Grant, by: str, at: float) -> AuditEntry:
    return entry("grant_revoked", at, grant=grant.id, tool=grant.tool, by=sound(by))


def _of(known: KnownPerson, kind: str, **more: object) -> AuditEntry:
    platform, id_, _, name, chat, since, by = person_values(known)
    return entry(
        kind,
        since,
        who=f"{platform}:{id_}",
        name=name,
        where=f"{platform}:{chat}" if chat else "",
        role=known.role.name.lower(),
        by=by,
        **more,
    )
