"""`/background`: a request that is worked on in a lane of its own, and answered in this chat."""

from hashlib import sha256

from hermes.commands.elsewhere import forwarded, lanes_for_this_chat, may_decide
from hermes.commands.words import counted, lasting
from hermes.core.channel import Command, Desk, Obeyed, Order
from hermes.core.ids import MAIN_AGENT, MessageId, SessionKey, session_key
from hermes.core.messages import Inbound
from hermes.core.people import Role, is_private
from hermes.core.rules import Busy
from hermes.core.session import Asking, Session, Turn, ref

BACKGROUND = "background"
WORKING = "Working on it in the background; the answer comes here."
NOTHING = "Nothing runs in the background for this chat. /background TEXT begins something."
NAME_CHARS = 16
LANES = f"agent:{MAIN_AGENT}:{BACKGROUND}:"


async def _background(order: Order, desk: Desk) -> Obeyed:
    if not order.argument:
        return Obeyed(replies=(order.reply(await _listed(order, desk)),))
    if order.argument.lower() == "stop":
        return await _stopped(order, desk)
    await desk.accept(apart(order))
    return Obeyed(replies=(order.reply(WORKING),))


def apart(order: Order) -> Inbound:
    """The same message gives the same lane and the same id, however often it is run."""
    said = order.inbound
    return Inbound(
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
    )


def _lane(order: Order) -> SessionKey:
    name = sha256(f"{order.session.key}\n{ref(order.inbound)}".encode()).hexdigest()
    kind = "dm" if is_private(order.session.key) else "group"
    return session_key(BACKGROUND, kind, name[:NAME_CHARS])


async def _listed(order: Order, desk: Desk) -> str:
    at_work = await _at_work(order, desk)
    if not at_work:
        return NOTHING
    lines = [_line(session, turn, order.at) for session, turn in at_work]
    return "\n".join(["In the background:", *lines, "/background stop ends it."])


def _line(session: Session, turn: Turn, now: float) -> str:
    state = "waits for an answer" if isinstance(session.phase, Asking) else "runs"
    return f"- {state}, begun {lasting(now - turn.started_at)} ago"


async def _stopped(order: Order, desk: Desk) -> Obeyed:
    mine = [(s, turn) for s, turn in await _at_work(order, desk) if may_decide(order, turn)]
    for session, turn in mine:
        await desk.accept(forwarded(order, session.key, f"/stop {turn.id}"))
    text = f"Stopping {counted(len(mine), 'background turn')}." if mine else NOTHING
    return Obeyed(replies=(order.reply(text),))


async def _at_work(order: Order, desk: Desk) -> list[tuple[Session, Turn]]:
    running = await lanes_for_this_chat(order, desk, "running")
    asking = await lanes_for_this_chat(order, desk, "asking")
    lanes = [session for session in (*running, *asking) if session.key.startswith(LANES)]
    return [(session, session.turn) for session in lanes if session.turn is not None]


BACKGROUND_COMMAND = Command(
    name="/background",
    least=Role.PAIRED,
    busy=Busy.NOW,
    summary="Work on something beside this conversation; alone it lists, stop ends it",
    look=_background,
    argument="TEXT",
)
