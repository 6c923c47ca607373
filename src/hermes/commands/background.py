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


async def _background(order: CommandCall, context: CommandContext) -> CommandResult:
    if not order.argument:
        return CommandResult(replies=(order.reply(await _listed(order, context)),))
    if order.argument.lower() == "stop":
        return await _stopped(order, context)
    await context.accept(apart(order))
    return CommandResult(replies=(order.reply(WORKING),))


def apart(order: CommandCall) -> Inbound:
    """Return the message for the background session. Its id is derived from this message, so a
    second run changes nothing."""
    said = order.inbound
    work = Inbound(
        id=MessageId(f"{ref(said)}/{BACKGROUND}"),
        account=BACKGROUND,
        session=_lane(order),
        sender=said.sender,
        address=said.address,
        text=order.argument,
        at=said.at,
        origin="background",
        media=said.media,
        labels=said.labels,
        direct=said.direct,
    )
    return derived(work, principal_of(sender_of(said), said.labels), ceiling=order.role)


def _lane(order: CommandCall) -> SessionKey:
    name = sha256(f"{order.session.key}\n{ref(order.inbound)}".encode()).hexdigest()
    kind = "dm" if sender_of(order.inbound).is_direct else "group"
    return session_key(BACKGROUND, kind, name[:NAME_CHARS])


async def _listed(order: CommandCall, context: CommandContext) -> str:
    at_work = await _at_work(order, context)
    if not at_work:
        return NOTHING
    lines = [_line(session, turn, order.at) for session, turn in at_work]
    return "\n".join(["In the background:", *lines, "/background stop ends it."])


def _line(session: Session, turn: Turn, now: float) -> str:
    state = "waits for an answer" if session.questions else "runs"
    return f"- {state}, begun {lasting(now - turn.started_at)} ago"


async def _stopped(order: CommandCall, context: CommandContext) -> CommandResult:
    mine = [(s, turn) for s, turn in await _at_work(order, context) if may_decide(order, turn)]
    for session, turn in mine:
        await context.accept(forwarded(order, session.key, f"/stop {turn.id}"))
    text = f"Stopping {counted(len(mine), 'background turn')}." if mine else NOTHING
    return CommandResult(replies=(order.reply(text),))


async def _at_work(order: CommandCall, context: CommandContext) -> list[tuple[Session, Turn]]:
    running = await lanes_for_this_chat(order, context, "running")
    asking = await lanes_for_this_chat(order, context, "asking")
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
