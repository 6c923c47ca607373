"""The channel on which a session's last word becomes the result of another session's call.

Its answer is an outbox row like any other, so it survives every crash on its way; to send it means
to accept a message that settles the call, which the inbox takes once. The other way round, a row of
the turn that waits ends the work of a session that nobody waits for any more.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.channel import Manifest
from hermes.core.child_sessions import (
    CALL,
    question_message,
    report_message,
    result_message,
    stop_message,
)
from hermes.core.errors import ChannelRefused, Rejected
from hermes.core.ids import CallId, SessionKey
from hermes.core.messages import CallSettlement, Inbound, Outcome, Reply, TurnReport
from hermes.core.store import Accepted
from hermes.text.visible_text import both_ends

HEAD_CHARS, TAIL_CHARS = 8_000, 16_000  # of a report that nobody waited for


class CallResults(Struct, frozen=True, kw_only=True):
    """The channel of the platform `call`. It drops what a turn says on the way (that the owner is
    asked, say) and takes only the last word."""

    accept: Callable[[Inbound], Awaitable[Accepted]]
    clock: Callable[[], float]
    complete: Callable[[Reply], Awaitable[Reply]] | None = None  # what else belongs to a report

    @property
    def manifest(self) -> Manifest:
        return Manifest(
            name=CALL,
            audience="unattended",
            on_doubt="same_key",
            chats=False,
            threads=True,  # the call that a session answers to
        )

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        said = replace(reply, text=chunk)
        if said.ends is not None and self.complete is not None:
            said = await self.complete(said)
        message = self._message(said)
        if message is not None:
            try:
                await self.accept(message)
            except Rejected as rejected:
                raise ChannelRefused(str(rejected)) from rejected
        return key

    def _message(self, reply: Reply) -> Inbound | None:
        there, at = SessionKey(reply.address.chat), self.clock()
        if reply.kind == "removal":
            return stop_message(there, reply.id, at)
        if reply.kind == "question" or reply.buttons:
            return question_message(there, reply, at)
        if reply.ends is None and reply.kind != "answer":
            return None
        if reply.ends is not None and reply.ends.to is not None:
            return replace(self._report(there, reply, reply.ends), at=at)
        call, _, part = reply.address.thread.partition(".")
        settles = CallSettlement(
            call=CallId(call),
            outcome=reply.ends.outcome if reply.ends is not None else Outcome.OK,
            part=int(part or 0),
            report=reply.ends,
        )
        return result_message(there, settles, reply.text, at, labels=reply.labels)

    def _report(self, there: SessionKey, reply: Reply, report: TurnReport) -> Inbound:
        """A long one is read from its file."""
        text = both_ends(reply.text, HEAD_CHARS, TAIL_CHARS)
        if text != reply.text and report.whole:
            text += f"\n[read_file {report.whole} has all of it]"
        return report_message(there, reply.address.thread, report, replace(reply, text=text))
