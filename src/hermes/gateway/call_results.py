"""A session whose last word is the result of another session's call.

Such a session speaks to an address on the platform `call`: the chat is the session that waits, the
thread is its deferred call. Its answer is an outbox row like any other, so it survives every crash
on its way; to send it means to accept a message that settles the call, which the inbox takes once.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from hermes.core.channel import Manifest
from hermes.core.errors import ChannelRefused, Rejected
from hermes.core.ids import CallId, MessageId, SessionKey
from hermes.core.messages import (
    Address,
    CallSettlement,
    Inbound,
    Outcome,
    Person,
    Reply,
    Spent,
)
from hermes.core.people import derived
from hermes.core.store import Accepted

PLATFORM = "call"
RESULT_CHARS_MAX = 90_000
NO_TEXT = "(It ended without a word.)"


def address_of_call(session: SessionKey, call: CallId) -> Address:
    """Return where a session answers whose answer is to end this call."""
    return Address(platform=PLATFORM, chat=session, thread=call)


def result_message(
    session: SessionKey,
    call: CallId,
    text: str,
    at: float,
    *,
    outcome: Outcome = Outcome.OK,
    labels: tuple[str, ...] = (),
    spent: tuple[Spent, ...] = (),
) -> Inbound:
    """Return the message that ends a deferred call. Whoever sends it twice has sent it once."""
    cut = f"\n[{len(text) - RESULT_CHARS_MAX} more characters]"
    ended = Inbound(
        id=MessageId(call),
        account=PLATFORM,
        session=session,
        sender=Person(id="hermes"),
        address=address_of_call(session, call),
        text=(text[:RESULT_CHARS_MAX] + (cut if len(text) > RESULT_CHARS_MAX else "")) or NO_TEXT,
        at=at,
        origin="result",
        labels=labels,
        spent=spent,
        settles=CallSettlement(call=call, outcome=outcome),
    )
    return derived(ended)


class CallResults(Struct, frozen=True, kw_only=True):
    """The channel of the platform `call`. It drops what a turn says on the way (that the owner is
    asked, say) and takes only the last word."""

    accept: Callable[[Inbound], Awaitable[Accepted]]
    clock: Callable[[], float]

    @property
    def manifest(self) -> Manifest:
        return Manifest(name=PLATFORM, audience="unattended", on_doubt="same_key", chats=False)

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        if reply.kind == "answer" or _is_failure(reply):
            message = result_message(
                SessionKey(reply.address.chat),
                CallId(reply.address.thread),
                chunk,
                self.clock(),
                outcome=Outcome.OK if reply.kind == "answer" else Outcome.FAILED,
                labels=reply.labels,
            )
            try:
                await self.accept(message)
            except Rejected as rejected:
                raise ChannelRefused(str(rejected)) from rejected
        return key


def _is_failure(reply: Reply) -> bool:
    """Return True for the words with which a turn fails or is parked. A notice beside a question
    and a message that was relayed (`account#id`) end no call."""
    return reply.kind == "notice" and "/notice-" not in reply.id and "#" not in reply.id
