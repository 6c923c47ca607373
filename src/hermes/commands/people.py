"""`/invite`, `/people`, `/trust`: the owner lets people in, sends them away, and clears a label."""

import os
import time

from msgspec.structs import replace

from hermes.commands.elsewhere import by_owner
from hermes.core.channel import Command, Desk, Obeyed, Order
from hermes.core.events import ViewChanged
from hermes.core.people import Role, sender_of
from hermes.core.rules import Busy
from hermes.core.store import Store
from hermes.core.trust import Known, Request
from hermes.views.honest import honest
from hermes.views.invites import INVITE_S, invited

ALONE = "Only in a chat with me alone, or at the terminal."
INVITED = (
    "{}\n\nThis lets one person in, once, until {}. They send it to me, in a chat with me alone."
)
NOBODY = "Nobody has been let in. /invite makes a code that lets one person in."
GONE = "That request has been answered already."
NO_ONE = "There is no such person. /people lists them."
USAGE = "/people lists them. /people admit|dismiss REQUEST, /people revoke PLATFORM:ID."
TRUSTED = (
    "From here on I take what has been read in this conversation so far for yours. "
    "What comes in from strangers later counts as before."
)
NOTHING_READ = "Nothing that strangers wrote has been read in this conversation."
UNTRUSTED = "untrusted"


async def _invite(order: Order, desk: Desk) -> Obeyed:
    if not by_owner(order):
        return _said(order, ALONE)
    at = desk.clock()
    code, invite = invited(
        Role.PAIRED, at, INVITE_S, by=sender_of(order.inbound).name, chance=os.urandom
    )
    await desk.store.trust.invite(invite)
    until = time.strftime("%H:%M UTC", time.gmtime(invite.expires_at))
    return _said(order, INVITED.format(code, until))


async def _people(order: Order, desk: Desk) -> Obeyed:
    if not by_owner(order):
        return _said(order, ALONE)
    word, _, name = order.argument.partition(" ")
    match word.lower():
        case "":
            return _said(order, await _listed(desk.store))
        case "admit" | "dismiss" if name.strip():
            return _said(order, await _decided(order, desk, word.lower(), name.strip()))
        case "revoke" if name.strip():
            return _said(order, await _revoked(order, desk, name.strip()))
        case _:
            return _said(order, USAGE)


async def _listed(store: Store) -> str:
    people = (await store.trust.register()).people.values()
    lines = [
        f"- {known.platform}:{known.id} ({honest(known.name) or 'no name'}), {_role(known.role)}"
        for known in people
    ]
    lines += [
        f"- asks to be let in: {r.platform}:{honest(r.person)} ({honest(r.name) or 'no name'}), "
        f"/people admit {r.id}"
        for r in await store.trust.requests()
    ]
    return "\n".join(lines) or NOBODY


async def _decided(order: Order, desk: Desk, word: str, name: str) -> str:
    trust = desk.store.trust
    found: list[Request] = [each for each in await trust.requests() if each.id == name]
    if not found:
        return GONE
    [request] = found
    who = f"{request.platform}:{honest(request.person)}"
    if word == "dismiss":
        await trust.dismiss(request.id, by=sender_of(order.inbound).name, at=desk.clock())
        return f"{who} is not let in."
    known = Known(
        platform=request.platform,
        id=request.person,
        role=Role.PAIRED,
        name=request.name,
        chat=request.chat,
        since=desk.clock(),
        by=sender_of(order.inbound).name,
    )
    return f"{who} may talk to me now." if await trust.admit(known, request=request.id) else GONE


async def _revoked(order: Order, desk: Desk, name: str) -> str:
    platform, _, id_ = name.partition(":")
    known = (await desk.store.trust.register()).people.get((platform, id_))
    if known is None:
        return NO_ONE
    at, by = desk.clock(), sender_of(order.inbound).name
    await desk.store.trust.revoke(replace(known, role=Role.STRANGER, since=at, by=by))
    return f"{honest(name)} is sent away."


def _trust(order: Order) -> Obeyed:
    view = order.session.view
    if UNTRUSTED not in view.labels:
        return _said(order, NOTHING_READ)
    labels = tuple(label for label in view.labels if label != UNTRUSTED)
    changed = ViewChanged(replace(view, labels=labels), "trusted", order.at)
    return Obeyed(events=(changed,), replies=(order.reply(TRUSTED),))


def _role(role: Role) -> str:
    return "sent away" if role is Role.STRANGER else role.name.lower()


def _said(order: Order, text: str) -> Obeyed:
    return Obeyed(replies=(order.reply(text),))


PEOPLE_COMMANDS = (
    Command(
        name="/invite",
        busy=Busy.NOW,
        summary="Make a code that lets one person in, once",
        look=_invite,
    ),
    Command(
        name="/people",
        busy=Busy.NOW,
        summary="Who may talk to me; let somebody in, or send them away",
        look=_people,
        argument="[admit|dismiss REQUEST | revoke PLATFORM:ID]",
    ),
    Command(
        name="/trust",
        busy=Busy.LATER,
        summary="Take what strangers wrote in this conversation for your own words",
        run=_trust,
    ),
)
