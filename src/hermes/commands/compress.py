"""`/compress`: summarise the conversation now, so that the model has less to read."""

from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.events import CompactionAsked
from hermes.core.people import Role
from hermes.core.rules import Busy

FOCUS_CHARS_MAX = 500
BEGUN = "I am compressing this conversation and will tell you when it is done."
GOES_ON = "This conversation is already being compressed."


def _compress(call: CommandCall) -> CommandResult:
    if call.session.compaction.wanted is not None:
        return CommandResult(replies=(call.reply(GOES_ON),))
    focus = call.argument[:FOCUS_CHARS_MAX]
    asked = CompactionAsked(call.at, focus, call.inbound.address)
    return CommandResult(events=(asked,), replies=(call.reply(BEGUN),))


COMPRESS_COMMAND = Command(
    name="/compress",
    least=Role.PAIRED,
    busy=Busy.BETWEEN,
    summary="Compress the conversation; name a topic to keep in detail",
    run=_compress,
    argument="[FOCUS]",
)
