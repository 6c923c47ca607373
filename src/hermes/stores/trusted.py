"""What both stores keep of people and grants, and what they put into the audit log about it."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from hermes.core.audit import Entry, entry
from hermes.core.errors import StoreCorrupt
from hermes.core.grants import Grant
from hermes.core.ids import SessionKey
from hermes.core.messages import sound
from hermes.core.people import Role
from hermes.core.trust import Invite, Known, Request

NAME_CHARS_MAX = 200
WORDS_CHARS_MAX = 1_000
DIGEST_CHARS = 12  # enough to tell invites apart
REVOKED = "its recipient was sent away"

_grants = msgspec.json.Decoder(Grant)


def encode_grant(grant: Grant) -> bytes:
    return msgspec.json.encode(grant)


def decode_grant(raw: bytes) -> Grant:
    try:
        return _grants.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as broken:
        raise StoreCorrupt(f"a stored grant cannot be read: {broken}") from broken


def readable_grants(found: Iterable[tuple[Any, ...]]) -> tuple[Grant, ...]:
    """One that cannot be read allows nothing."""
    grants = []
    for (raw,) in found:
        with suppress(StoreCorrupt):
            grants.append(decode_grant(raw))
    return tuple(grants)


def known_row(*row: Any) -> Known:
    """A role that there is not is a stranger's."""
    platform, id_, number, name, chat, since, by = row
    role = Role(number) if number in list(Role) else Role.STRANGER
    return Known(platform=platform, id=id_, role=role, name=name, chat=chat, since=since, by=by)


def request_row(*row: Any) -> Request:
    id_, platform, person, chat, name, text, at = row
    return Request(id=id_, platform=platform, person=person, chat=chat, name=name, text=text, at=at)


def kept(known: Known) -> tuple[str, str, int, str, str, float, str]:
    """In the order of the columns."""
    name, chat = sound(known.name)[:NAME_CHARS_MAX], sound(known.chat)
    who = (sound(known.platform), sound(known.id))
    return *who, int(known.role), name, chat, known.since, sound(known.by)


def kept_request(request: Request) -> tuple[str, str, str, str, str, str, float]:
    where = (sound(request.platform), sound(request.person), sound(request.chat))
    name, text = sound(request.name)[:NAME_CHARS_MAX], sound(request.text)[:WORDS_CHARS_MAX]
    return sound(request.id), *where, name, text, request.at


def with_invite(known: Known, role: Role, was: Role | None, by: str) -> Known:
    """An invite lets somebody in; it never takes away what they are already."""
    best = role if was is None else min(role, was)
    return msgspec.structs.replace(known, role=best, by=known.by or by)


def as_stranger(known: Known) -> Known:
    return msgspec.structs.replace(known, role=Role.STRANGER)


def chats_of(known: Known, noted: str) -> tuple[str, ...]:
    """Where one writes to this person alone; `noted` is where they were let in."""
    return tuple({sound(chat) for chat in (known.id, known.chat, noted) if chat})


def says_session(key: SessionKey) -> bytes:
    """Stands so in the bodies of entries about this session, and nowhere else: a quote that is part
    of a text is escaped."""
    return b'"session":' + msgspec.json.encode(sound(key))


# ── the log ─────────────────────────────────────────────────────────────────────────────────────


def invited(invite: Invite) -> Entry:
    return entry(
        "invited",
        invite.made_at,
        invite=invite.digest[:DIGEST_CHARS],
        role=invite.role.name.lower(),
        expires_at=invite.expires_at,
        by=sound(invite.by),
    )


def redeemed(known: Known, digest: str) -> Entry:
    return _of(known, "redeemed", invite=digest[:DIGEST_CHARS])


def asked_in(request: Request) -> Entry:
    id_, platform, person, chat, name, _, at = kept_request(request)
    who = f"{platform}:{person}"
    return entry("asked_in", at, request=id_, who=who, name=name, where=f"{platform}:{chat}")


def admitted(known: Known, request: str) -> Entry:
    return _of(known, "admitted", request=sound(request))


def sent_away(known: Known, unsent: int) -> Entry:
    return _of(known, "sent_away", unsent=unsent or None)


def dismissed(request: str, who: str, by: str, at: float) -> Entry:
    return entry("dismissed", at, request=sound(request), who=who, by=sound(by))


def grant_revoked(grant: Grant, by: str, at: float) -> Entry:
    return entry("grant_revoked", at, grant=grant.id, tool=grant.tool, by=sound(by))


def _of(known: Known, kind: str, **more: object) -> Entry:
    platform, id_, _, name, chat, since, by = kept(known)
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
