"""First stop of every message: is it allowed, is it sound, is it written down?

The channel acknowledges to its platform only after `accept` returns.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.core.events import MessageReceived
from hermes.core.ids import NodeId, SessionId, TurnId
from hermes.core.messages import Inbound, sound
from hermes.core.people import Role, Sender, sender_of
from hermes.core.signals import Emit, Recorded, Signal
from hermes.core.store import Accepted, Journal
from hermes.gateway.measure import Measure

TEXT_CHARS_MAX = 100_000


class Intake(Struct, frozen=True, kw_only=True):
    journal: Journal
    role: Callable[[Sender], Awaitable[Role]]
    clean: Callable[[Inbound], Inbound]  # without secrets
    measure: Measure
    new_id: Callable[[], str]
    emit: Emit
    node: NodeId

    async def accept(self, inbound: Inbound) -> Accepted:
        return (await self.take(inbound))[0]

    async def take(self, inbound: Inbound) -> tuple[Accepted, MessageReceived]:
        """Raises Rejected for a stranger, and for a message that is none."""
        sender = sender_of(inbound)
        role = await self.role(sender)
        if role is Role.STRANGER:
            raise Rejected(f"{inbound.sender.id} is not known here")
        self.measure.demand(sender, role)
        text = sound(inbound.text)
        if not text.strip() and not inbound.media:
            raise Rejected("the message is empty")
        if len(text) > TEXT_CHARS_MAX:
            raise Rejected(f"the message is longer than {TEXT_CHARS_MAX:,} characters; send a file")
        checked = self.clean(replace(inbound, text=text, node=self.node))
        opens = SessionId(self.new_id())
        accepted = await self.journal.accept(checked, opens=opens)
        event = MessageReceived(checked, opens)
        if accepted.fresh:
            recorded = Recorded((event,), accepted.position)
            self.emit(Signal(accepted.key, TurnId(""), recorded))
        return accepted, event
