"""A chat beside a running gateway: the gateway works, the chat says, watches and shows.

When the gateway goes away the chat waits for the next one, says the same message again (it is the
same by its id) and goes on behind the last event that it has seen.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Protocol

from hermes.cli.answer import Answered
from hermes.cli.talk import Talk
from hermes.core.channel import Status
from hermes.core.errors import ChannelDown
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow
from hermes.core.signals import Recorded, Signal
from hermes.core.store import Accepted, MediaShelf
from hermes.views.turn_story import StepRow

PATIENCE_S = 60.0  # how long a gateway may take to come back
CLOSING_S = 2.0  # the same, when all that is left is to tell it that everything was shown
AGAIN_S, AGAIN_S_MAX = 0.1, 1.0
LOOK_S, LOOKS = 2.0, 15  # between looks at a turn that was interrupted, and how many are enough
WAITING = "The gateway is gone. Waiting up to {:.0f} s for it to come back."
BACK = "The gateway is back."
ALONE = "No gateway came back; going on without one."


class Attached(Protocol):
    """A way into a running gateway. Everything raises ChannelDown when that is gone."""

    media: MediaShelf

    async def status(self) -> Status: ...

    async def say(self, inbound: Inbound) -> Accepted: ...

    async def follow(self, key: SessionKey, after: int | None, *, live: bool) -> int: ...

    async def next(self) -> Signal | tuple[str, Reply]: ...

    async def shown(self, key: str) -> None: ...

    async def deliver(self, key: SessionKey) -> None: ...

    async def outcome(
        self, key: SessionKey, turn: TurnId | None
    ) -> tuple[SessionId, TurnRow | None, tuple[StepRow, ...]]: ...

    async def close(self) -> None: ...


Attach = Callable[[], Awaitable[Attached | None]]


async def talked(talk: Talk, attach: Attach, *, patience_s: float = PATIENCE_S) -> bool:
    """True when all was said and shown by way of a gateway; False when there is none, or none any
    more: then the talk goes on with an engine of its own."""
    attached = await attach()
    until = None
    while attached is not None:
        seen = talk.position
        try:
            await _through(talk, attached)
        except ChannelDown:
            talk.join()
        else:
            return True
        finally:
            talk.stop.by(None)
            await attached.close()
        now = asyncio.get_running_loop().time()
        if until is None or talk.position != seen:
            until = now + (CLOSING_S if talk.printed.complete else patience_s)
        attached = await _back(talk, attach, until - now)
    return talk.printed.complete


async def _back(talk: Talk, attach: Attach, patience_s: float) -> Attached | None:
    """The next gateway on this home, unless none comes in time."""
    console, quiet = talk.place.console, talk.printed.complete
    if not quiet:
        console.tell(WAITING.format(max(patience_s, 0)))
    now = asyncio.get_running_loop().time
    until, pause_s = now() + patience_s, AGAIN_S
    while now() < until:
        await asyncio.sleep(pause_s)
        if (attached := await attach()) is not None:
            if not quiet:
                console.tell(BACK)
            return attached
        pause_s = min(pause_s * 2, AGAIN_S_MAX)
    if not quiet:
        console.tell(ALONE)
    return None


async def _through(talk: Talk, attached: Attached) -> None:
    talk.join()
    async with talk.live.showing():
        watching = asyncio.create_task(_watch(talk, attached))
        try:
            await _unless(watching, _say(talk, attached))
        finally:
            await _end(watching)


async def _say(talk: Talk, attached: Attached) -> None:
    head = await attached.follow(talk.key, talk.position, live=talk.live.watching)
    talk.follows(head)
    if not talk.accepted:
        await attached.deliver(talk.key)  # what an earlier chat was killed before it could show
        await talk.pack(attached.media)
        talk.printed.early = False
    await attached.say(talk.inbound)
    talk.accepted = True
    talk.stop.by(attached.say)
    await _over(talk, attached)
    await _conclude(talk, attached)
    await attached.deliver(talk.key)
    talk.live.aside()
    talk.printed.rest()


async def _over(talk: Talk, attached: Attached) -> None:
    """Until the message has come to its end, or to where a gateway that resumes nothing by itself
    leaves it: one that is ready takes interrupted turns up soon, or never."""
    left_alone = 0
    while left_alone < LOOKS and not talk.over.is_set():
        try:
            async with asyncio.timeout(LOOK_S):
                await talk.over.wait()
        except TimeoutError:
            status = await attached.status()
            left = talk.tale.marked and status.state == "ready"
            left_alone = 0 if not left else left_alone + 1 if status.resumes else LOOKS


async def _watch(talk: Talk, attached: Attached) -> None:
    while True:
        match await attached.next():
            case Signal(glimpse=Recorded(events=events, position=position)):
                talk.take(events, position)
            case Signal() as signal:
                talk.live.emit(signal)
            case (key, reply):
                if talk.over.is_set():
                    await _conclude(talk, attached)
                talk.hear(reply, reply.text)
                await attached.shown(key)


async def _conclude(talk: Talk, attached: Attached) -> None:
    session_id, turn, steps = await attached.outcome(talk.key, talk.tale.turn)
    talk.printed.outcome = Answered(
        key=talk.key,
        session_id=session_id,
        turn=turn,
        steps=steps,
        replies=tuple(talk.tale.replies),
    )


async def _unless(ended: "asyncio.Task[None]", work: Coroutine[None, None, None]) -> None:
    """Do the work, unless that task ends first: then its error is ours."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        await (task if task.done() else ended)
    finally:
        await _end(task)


async def _end(task: "asyncio.Task[None]") -> None:
    """Whatever it ended with has been told, or does not count any more."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
