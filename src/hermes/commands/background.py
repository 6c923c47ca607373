"""`/background`: work on a request in a session of its own, and answer in this chat."""

from hashlib import sha256

from hermes.commands.elsewhere import forwarded, lanes_for_this_chat, may_decide
from hermes.commands.words import counted, lasting
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.ids import MessageId, SessionKey, platform_of, session_key
from hermes.core.messages import Inbound
from hermes.core.people import Role, derived, principal_of, sender_of
from hermes.core.rules import Busy
from hermes.core.session import Session, Turn, ref

BACKGROUND = "background"
WORKING = "Working on it in the background; the answer comes here."
NOTHING = "No background work for this chat. Start some with /background TEXT."
NAME_CHARS = 16


async def _background(call: CommandCall, context: CommandContext) -> CommandResult:
    if not call.argument:
        return CommandResult(replies=(call.reply(await _listed(call, context)),))
    if call.argument.lower() == "stop":
        return await _stopped(call, context)
    await context.accept(apart(call))
    return CommandResult(replies=(call.reply(WORKING),))


def apart(call: CommandCall) -> Inbound:
    """Return the message for the background session. Its id is derived from this message, so a
    second run changes nothing."""
    said = call.inbound
    work = Inbound(
        id=MessageId(f"{ref(said)}/{BACKGROUND}"),
        account=BACKGROUND,
        session=_lane(call),
        sender=said.sender,
        address=said.address,
        text=call.argument,
        at=said.at,
        origin="background",
        media=said.media,
        labels=said.labels,
        direct=said.direct,
    )
    return derived(work, principal_of(sender_of(said), said.labels), ceiling=call.role)


def _lane(call: CommandCall) -> SessionKey:
    name = sha256(f"{call.session.key}\n{ref(call.inbound)}".encode()).hexdigest()
    kind = "dm" if sender_of(call.inbound).is_direct else "group"
    return session_key(BACKGROUND, kind, name[:NAME_CHARS])


async def _listed(call: CommandCall, context: CommandContext) -> str:
    at_work = await _at_work(call, context)
    if not at_work:
        return NOTHING
    lines = [_line(session, turn, call.at) for session, turn in at_work]
    return "\n".join(["In the background:", *lines, "/background stop ends it."])


def _line(session: Session, turn: Turn, now: float) -> str:
    state = "waits for an answer" if session.questions else "runs"
    return f"- {state}, begun {lasting(now - turn.started_at)} ago"


async def _stopped(call: CommandCall, context: CommandContext) -> CommandResult:
    mine = [(s, turn) for s, turn in await _at_work(call, context) if may_decide(call, turn)]
    for session, turn in mine:
        await context.accept(forwarded(call, session.key, f"/stop {turn.id}"))
    text = f"Stopping {counted(len(mine), 'background turn')}." if mine else NOTHING
    return CommandResult(replies=(call.reply(text),))


async def _at_work(call: CommandCall, context: CommandContext) -> list[tuple[Session, Turn]]:
    running = await lanes_for_this_chat(call, context, "running")
    asking = await lanes_for_this_chat(call, context, "asking")
    lanes = [session for session in (*running, *asking) if platform_of(session.key) == BACKGROUND]
    return [(session, session.turn) for session in lanes if session.turn is not None]


BACKGROUND_COMMAND = Command(
    name="/background",
    least=Role.PAIRED,
    busy=Busy.NOW,
    summary="Work on something in the background; alone it lists the work, stop ends it",
    run_async=_background,
    argument="TEXT",
)
