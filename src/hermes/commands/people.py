"""`/invite`, `/people`, `/trust`: admit and remove people, and clear the untrusted label."""

import os
import time

from msgspec.structs import replace

from hermes.commands.elsewhere import by_owner
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.events import ViewChanged
from hermes.core.people import Role, sender_of
from hermes.core.rules import Busy
from hermes.core.store import Store
from hermes.core.trust import AdmissionRequest, KnownPerson
from hermes.text.visible_text import visible_text
from hermes.views.invites import INVITE_S, invited

ALONE = "This works only in a private chat or in the terminal."
INVITED = "{}\n\nThis lets one person in, once, until {}. They send it to me in a private chat."
NOBODY = "No one has access yet. /invite makes a code for one person."
GONE = "That request has been answered already."
NO_ONE = "There is no such person. /people lists them."
USAGE = "/people lists them. /people admit|dismiss REQUEST, /people revoke PLATFORM:ID."
TRUSTED = (
    "I now trust everything that this conversation has read so far. Text from strangers that it "
    "reads later is untrusted again."
)
NOTHING_READ = "This conversation has not read any untrusted text."
UNTRUSTED = "untrusted"


async def _invite(call: CommandCall, context: CommandContext) -> CommandResult:
    if not by_owner(call):
        return _said(call, ALONE)
    at = context.clock()
    code, invite = invited(
        Role.PAIRED, at, INVITE_S, by=sender_of(call.inbound).name, chance=os.urandom
    )
    await context.store.trust.invite(invite)
    until = time.strftime("%H:%M UTC", time.gmtime(invite.expires_at))
    return _said(call, INVITED.format(code, until))


async def _people(call: CommandCall, context: CommandContext) -> CommandResult:
    if not by_owner(call):
        return _said(call, ALONE)
    word, _, name = call.argument.partition(" ")
    match word.lower():
        case "":
            return _said(call, await _listed(context.store))
        case "admit" | "dismiss" if name.strip():
            return _said(call, await _decided(call, context, word.lower(), name.strip()))
        case "revoke" if name.strip():
            return _said(call, await _revoked(call, context, name.strip()))
        case _:
            return _said(call, USAGE)


async def _listed(store: Store) -> str:
    people = (await store.trust.register()).people.values()
    lines = [
        f"- {known.platform}:{known.id} ({_name(known.name)}), {_role(known.role)}"
        for known in people
    ]
    lines += [
        f"- asks to be let in: {r.platform}:{visible_text(r.person)} ({_name(r.name)}), "
        f"/people admit {r.id}"
        for r in await store.trust.requests()
    ]
    return "\n".join(lines) or NOBODY


async def _decided(call: CommandCall, context: CommandContext, word: str, name: str) -> str:
    trust = context.store.trust
    found: list[AdmissionRequest] = [each for each in await trust.requests() if each.id == name]
    if not found:
        return GONE
    [request] = found
    who = f"{request.platform}:{visible_text(request.person)}"
    if word == "dismiss":
        await trust.dismiss(request.id, by=sender_of(call.inbound).name, at=context.clock())
        return f"{who} has no access."
    known = KnownPerson(
        platform=request.platform,
        id=request.person,
        role=Role.PAIRED,
        name=request.name,
        chat=request.chat,
        since=context.clock(),
        by=sender_of(call.inbound).name,
    )
    return f"{who} may talk to me now." if await trust.admit(known, request=request.id) else GONE


async def _revoked(call: CommandCall, context: CommandContext, name: str) -> str:
    platform, _, id_ = name.partition(":")
    known = (await context.store.trust.register()).people.get((platform, id_))
    if known is None:
        return NO_ONE
    at, by = context.clock(), sender_of(call.inbound).name
    await context.store.trust.revoke(replace(known, role=Role.STRANGER, since=at, by=by))
    return f"{visible_text(name)} is removed."


def _trust(call: CommandCall) -> CommandResult:
    view = call.session.view
    if UNTRUSTED not in view.labels:
        return _said(call, NOTHING_READ)
    labels = tuple(label for label in view.labels if label != UNTRUSTED)
    changed = ViewChanged(replace(view, labels=labels), "trusted", call.at)
    return CommandResult(events=(changed,), replies=(call.reply(TRUSTED),))


def _name(name: str) -> str:
    return visible_text(name) or "no name"


def _role(role: Role) -> str:
    return "removed" if role is Role.STRANGER else role.name.lower()


def _said(call: CommandCall, text: str) -> CommandResult:
    return CommandResult(replies=(call.reply(text),))


PEOPLE_COMMANDS = (
    Command(
        name="/invite",
        busy=Busy.NOW,
        summary="Make a code that lets one person in, once",
        run_async=_invite,
    ),
    Command(
        name="/people",
        busy=Busy.NOW,
        summary="Show who may talk to me; accept or remove people",
        run_async=_people,
        argument="[admit|dismiss REQUEST | revoke PLATFORM:ID]",
    ),
    Command(
        name="/trust",
        busy=Busy.LATER,
        summary="Trust everything that this conversation has read so far",
        run=_trust,
    ),
)
