"""The first stop of every message: check who sends it and what it is, then store it.

The channel acknowledges to its platform only after `accept` returns.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected, StoreFailed
from hermes.core.events import MessageReceived
from hermes.core.ids import NodeId, SessionId, TurnId
from hermes.core.messages import Inbound, sound
from hermes.core.people import TOO_FAR, Role, Sender, sender_of
from hermes.core.principal import HOPS_MAX
from hermes.core.signals import Emit, Recorded, Signal
from hermes.core.store import Accepted, Journal
from hermes.gateway.inbound_rate import InboundRate

TEXT_CHARS_MAX = 100_000


class Intake(Struct, frozen=True, kw_only=True):
    journal: Journal
    role: Callable[[Sender], Awaitable[Role]]
    clean: Callable[[Inbound], Inbound]  # without secrets
    measure: InboundRate
    new_id: Callable[[], str]
    emit: Emit
    node: NodeId
    note_write: Callable[[str], None] = lambda _problem: None  # why one failed; "": it did not

    async def accept(self, inbound: Inbound) -> Accepted:
        return (await self.take(inbound))[0]

    async def _admit(self, inbound: Inbound) -> None:
        sender = sender_of(inbound)
        role = await self.role(sender)
        if role is Role.STRANGER:
            raise Rejected(_why_not(sender))
        self.measure.demand(sender, role)

    async def take(self, inbound: Inbound) -> tuple[Accepted, MessageReceived]:
        """Raises Rejected for a stranger, and for a message that is none."""
        if inbound.settles is None:  # a result is nobody's words
            await self._admit(inbound)
        text = sound(inbound.text)
        if not text.strip() and not inbound.media:
            raise Rejected("the message is empty")
        if len(text) > TEXT_CHARS_MAX:
            raise Rejected(f"the message is longer than {TEXT_CHARS_MAX:,} characters; send a file")
        checked = self.clean(replace(inbound, text=text, node=self.node))
        opens = SessionId(self.new_id())
        try:
            accepted = await self.journal.accept(checked, opens=opens)
        except StoreFailed as failed:
            self.note_write(str(failed))
            raise
        self.note_write("")
        event = MessageReceived(checked, opens)
        if accepted.fresh:
            recorded = Recorded((event,), accepted.position)
            self.emit(Signal(accepted.key, TurnId(""), recorded))
        return accepted, event


def _why_not(sender: Sender) -> str:
    carried = sender.principal
    if carried is not None and len(carried.via) > HOPS_MAX:
        return TOO_FAR
    return f"{sender.id} is not known here"
