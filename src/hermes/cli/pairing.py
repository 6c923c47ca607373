"""hermes pairing …: who may talk to Hermes. Only here, at the machine, is an owner named."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import assert_never

from hermes.app import store_only
from hermes.cli import pairing_grammar as grammar
from hermes.cli.approvals import one
from hermes.cli.command import Shown
from hermes.cli.errors import DONE, Usage
from hermes.cli.place import Place
from hermes.cli.stored import looked_at, needed
from hermes.cli.times import ago, iso
from hermes.core.errors import Rejected
from hermes.core.people import Role
from hermes.core.store import Store
from hermes.core.trust import Known, Request
from hermes.settings import Settings, prepare
from hermes.views.honest import honest
from hermes.views.invites import TERMINAL, invited

ROLES = {"paired": Role.PAIRED, "owner": Role.OWNER}
MINUTES_MAX = 7 * 24 * 60


def run(given: grammar.Given, place: Place) -> int:
    """Any of these commands, told apart by what was given."""
    match given:
        case grammar.People():
            return asyncio.run(_list(given, place))
        case grammar.Invite():
            return asyncio.run(_invite(given, place))
        case grammar.Owner():
            return asyncio.run(_owner(given, place))
        case grammar.Admit():
            return asyncio.run(_admit(given, place))
        case grammar.Dismiss():
            return asyncio.run(_dismiss(given, place))
        case grammar.Revoke():
            return asyncio.run(_revoke(given, place))
        case _:
            assert_never(given)


async def _list(given: grammar.People, place: Place) -> int:
    settings = place.settings()
    people: tuple[Known, ...] = ()
    requests: Sequence[Request] = ()
    async with looked_at(place) as store:
        if store is not None:
            people = tuple((await store.trust.register()).people.values())
            requests = await store.trust.requests()
    configured = _configured(settings)
    if given.json:
        place.console.document(
            {
                "people": [_known(each) for each in people],
                "configured": [{"platform": p, "id": i, "role": "owner"} for p, i in configured],
                "requests": [_request(each) for each in requests],
            }
        )
        return DONE
    now = place.clock()
    rows = [
        (f"{p}:{i}", "owner", "", "", "config.yaml")
        for p, i in configured
        if not any((each.platform, each.id) == (p, i) for each in people)
    ]
    rows += [
        (f"{e.platform}:{e.id}", _role(e.role), honest(e.name), ago(e.since, now), honest(e.by))
        for e in people
    ]
    if not rows and not requests:
        place.console.say("Nobody but you, at this machine. Let somebody in: hermes pairing invite")
    if rows:
        place.console.table(("WHO", "ROLE", "NAME", "SINCE", "BY"), rows)
    for request in requests:
        place.console.head(f"{request.id[:10]}  asked {ago(request.at, now)}")
        name, text = honest(request.name), honest(request.text)
        place.console.say(f"{request.platform}:{request.person} ({name}) wrote: {text}")
    if requests:
        place.console.say("\nLet in with: hermes pairing approve ID")
    return DONE


async def _invite(given: grammar.Invite, place: Place) -> int:
    if not 1 <= given.minutes <= MINUTES_MAX:
        raise Usage(f"--minutes: between 1 and {MINUTES_MAX}")
    async with _made(place) as store:
        code, invite = invited(
            ROLES[given.role], place.clock(), given.minutes * 60.0, by=TERMINAL, chance=os.urandom
        )
        await store.trust.invite(invite)
    if given.json:
        document = {"code": code, "role": given.role, "expires_at": iso(invite.expires_at)}
        place.console.document(document)
        return DONE
    place.console.say(code)
    place.console.tell(
        f"For one person, once, within {given.minutes} minutes: they send it to the bot, in a chat "
        "with it alone. It is not shown again."
    )
    return DONE


async def _owner(given: grammar.Owner, place: Place) -> int:
    platform, id_ = _person(given.person)
    known = Known(
        platform=platform,
        id=id_,
        role=Role.OWNER,
        name=given.name,
        since=place.clock(),
        by=TERMINAL,
    )
    async with _made(place) as store:
        await store.trust.admit(known)
    return _said(given, place, known, f"{given.person} is you: an owner")


async def _admit(given: grammar.Admit, place: Place) -> int:
    async with needed(place) as store:
        request = one(await store.trust.requests(), given.request, lambda each: each.id, "request")
        known = Known(
            platform=request.platform,
            id=request.person,
            role=ROLES[given.role],
            name=request.name,
            chat=request.chat,
            since=place.clock(),
            by=TERMINAL,
        )
        if not await store.trust.admit(known, request=request.id):
            raise Rejected("that request has been answered meanwhile")
    return _said(given, place, known, f"{known.platform}:{known.id} may talk to Hermes now")


async def _dismiss(given: grammar.Dismiss, place: Place) -> int:
    async with needed(place) as store:
        request = one(await store.trust.requests(), given.request, lambda each: each.id, "request")
        await store.trust.dismiss(request.id, by=TERMINAL, at=place.clock())
    if given.json:
        place.console.document({"id": request.id, "dismissed": True})
    else:
        place.console.say("Forgotten")
    return DONE


async def _revoke(given: grammar.Revoke, place: Place) -> int:
    platform, id_ = _person(given.person)
    async with _made(place) as store:
        people = (await store.trust.register()).people
        before = people.get((platform, id_))
        if before is None and (platform, id_) not in _configured(place.settings()):
            raise Rejected(f"{given.person} is not known here. See: hermes pairing list")
        known = Known(
            platform=platform,
            id=id_,
            role=Role.STRANGER,
            name=before.name if before is not None else "",
            chat=before.chat if before is not None else "",
            since=place.clock(),
            by=TERMINAL,
        )
        await store.trust.revoke(known)
    return _said(given, place, known, f"{given.person} is sent away")


def _made(place: Place) -> AbstractAsyncContextManager[Store]:
    prepare(place.home)
    return store_only(place.home, place.settings())


def _person(text: str) -> tuple[str, str]:
    platform, colon, id_ = text.partition(":")
    if not (platform and colon and id_.strip()):
        raise Usage(f"{text}: say PLATFORM:ID, telegram:12345 for example")
    return platform, id_.strip()


def _configured(settings: Settings) -> Sequence[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, raw in settings.platforms.items():
        listed = raw.get("allowed_users", ())
        if isinstance(listed, list | tuple):
            found += ((name, str(each)) for each in listed)
    return found


def _said(given: Shown, place: Place, known: Known, text: str) -> int:
    if given.json:
        place.console.document(_known(known))
    else:
        place.console.say(text)
    return DONE


def _role(role: Role) -> str:
    return "sent away" if role is Role.STRANGER else role.name.lower()


def _known(known: Known) -> Mapping[str, object]:
    return {
        "platform": known.platform,
        "id": known.id,
        "role": _role(known.role),
        "name": known.name,
        "chat": known.chat,
        "since": iso(known.since),
        "by": known.by,
    }


def _request(request: Request) -> Mapping[str, object]:
    return {
        "id": request.id,
        "platform": request.platform,
        "person": request.person,
        "name": request.name,
        "text": request.text,
        "at": iso(request.at),
    }
