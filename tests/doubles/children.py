"""Sessions that do a part of another session's work."""

from hermes.core.child_sessions import address_of_call
from hermes.core.ids import MessageId, session_key
from hermes.core.messages import Inbound, Person
from hermes.core.people import derived
from hermes.core.ports import ToolContext


def child_message(context: ToolContext, text: str) -> Inbound:
    """Begin a session whose answer is the call's result; the same however often it is made."""
    message = Inbound(
        id=MessageId(context.call.id),
        account="parent",
        session=session_key("child", "dm", context.call.id),
        sender=Person(id="hermes"),
        address=address_of_call(context.session, context.call.id),
        text=text,
        at=0.0,
        origin="parent",
    )
    return derived(message, context.principal)
