"""/compress: sum the conversation up now, so that the model has less to read."""

from hermes.core.channel import Command, Obeyed, Order
from hermes.core.events import CompactionAsked
from hermes.core.people import Role
from hermes.core.rules import Busy

FOCUS_CHARS_MAX = 500
BEGUN = "I compress this conversation, and say when it is done."
GOES_ON = "This conversation is being compressed already."


def _compress(order: Order) -> Obeyed:
    if order.session.compaction.wanted is not None:
        return Obeyed(replies=(order.reply(GOES_ON),))
    focus = order.argument[:FOCUS_CHARS_MAX]
    asked = CompactionAsked(order.at, focus, order.inbound.address)
    return Obeyed(events=(asked,), replies=(order.reply(BEGUN),))


COMPRESS_COMMAND = Command(
    name="/compress",
    least=Role.PAIRED,
    busy=Busy.BETWEEN,
    summary="Sum the conversation up, with most attention to what you name",
    run=_compress,
    argument="[FOCUS]",
)
