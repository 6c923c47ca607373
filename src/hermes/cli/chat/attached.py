"""A chat attached to a running gateway: the gateway works, the chat sends, watches and shows.

When the gateway goes away the chat waits for the next one, sends the same message again (its id
makes that idempotent) and continues behind the last event that it has seen.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Protocol

from hermes.cli.chat.answer import MessageOutcome
from hermes.cli.chat.open_question import OpenQuestion
from hermes.cli.chat.talk import Talk
from hermes.core.channel import GatewayStatus
from hermes.core.errors import ChannelDown
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow
from hermes.core.signals import Recorded, Signal
from hermes.core.store import Accepted, MediaStore
from hermes.views.command_words import is_command
from hermes.views.scene import Scene
from hermes.views.turn_story import StepRow

PATIENCE_S = 60.0  # how long a gateway may take to come back
CLOSING_S = 2.0  # the same, when all that is left is to tell it that everything was shown
AGAIN_S, AGAIN_S_MAX = 0.1, 1.0
COMMAND_LOOKS = 3
ANSWER_LOOK_S, ANSWER_LOOKS = 0.1, 100
LOOK_S, LOOKS = 2.0, 15  # between looks at a turn that was interrupted, and how many are enough
WAITING = "The gateway is gone. Waiting up to {:.0f} s for it to come back."
BACK = "The gateway is back."
ALONE = "No gateway came back; continuing without one."


class AttachedGateway(Protocol):
    """A connection to a running gateway. Every method raises ChannelDown when it is lost."""

    media: MediaStore

    async def status(self) -> GatewayStatus: ...

    async def say(self, inbound: Inbound) -> Accepted: ...

    async def follow(self, key: SessionKey, after: int | None, *, live: bool) -> int: ...

    async def next(self) -> Signal | tuple[str, Reply]: ...

    async def shown(self, key: str) -> None: ...

    async def deliver(self, key: SessionKey) -> None: ...

    async def outcome(
        self, key: SessionKey, turn: TurnId | None
    ) -> tuple[SessionId, TurnRow | None, tuple[StepRow, ...]]: ...

    async def scene(self, key: SessionKey) -> Scene | None: ...

    async def close(self) -> None: ...


Attach = Callable[[], Awaitable[AttachedGateway | None]]


async def talk_through_gateway(
    talk: Talk, attach: Attach, *, patience_s: float = PATIENCE_S
) -> bool:
    """Return True if the gateway handled everything; False if no gateway runs, so that the
    caller continues with an engine of its own."""
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


async def _back(talk: Talk, attach: Attach, patience_s: float) -> AttachedGateway | None:
    """Wait for the next gateway on this home; None if none comes in time."""
    console, quiet = talk.context.console, talk.printed.complete
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


async def _through(talk: Talk, attached: AttachedGateway) -> None:
    talk.join()
    async with talk.live.showing():
        watching = asyncio.create_task(_watch(talk, attached))
        try:
            await _unless(watching, _say(talk, attached))
        finally:
            await _end(watching)


async def _say(talk: Talk, attached: AttachedGateway) -> None:
    head = await attached.follow(talk.key, talk.position, live=talk.live.watching)
    talk.follows(head)
    if not talk.accepted:
        await attached.deliver(talk.key)  # what an earlier chat was killed before it could show
        await talk.pack(attached.media)
        talk.printed.early = False
    await attached.say(talk.inbound)
    talk.accepted = True
    talk.stop.by(attached.say)
    blocked = await _until_over(talk, attached)
    while talk.asks and (question := await talk.question()) is not None:
        await attached.deliver(talk.key)
        answer = await talk.ask(question)
        talk.stop.by(attached.say)
        if answer is not None:
            await attached.say(answer)
        if talk.asks:
            await _moved_on(talk, question)
            blocked = await _until_over(talk, attached)
    await _conclude(talk, attached, blocked)
    await attached.deliver(talk.key)
    talk.live.aside()
    talk.printed.rest()


async def _until_over(talk: Talk, attached: AttachedGateway) -> OpenQuestion | None:
    """Wait until the message is handled. Return the question that it waits behind, if one is still
    open."""
    while await _is_left_behind(talk, attached):
        if (question := await talk.question()) is not None:
            return question
        await asyncio.sleep(ANSWER_LOOK_S)
    return None


async def _is_left_behind(talk: Talk, attached: AttachedGateway) -> bool:
    """Wait until the message is handled, or its interrupted turn stays unresumed: a ready gateway
    resumes it soon, or never. Return True if the message waits behind an open question."""
    left_alone = looks = 0
    while left_alone < LOOKS and not talk.over.is_set():
        if await _is_behind_a_question(talk, attached, looks):
            return True
        looks += 1
        try:
            async with asyncio.timeout(LOOK_S):
                await talk.over.wait()
        except TimeoutError:
            status = await attached.status()
            left = talk.tracker.marked and status.state == "ready"
            left_alone = 0 if not left else left_alone + 1 if status.resumes else LOOKS
    return False


async def _moved_on(talk: Talk, question: OpenQuestion) -> None:
    """Wait until the session has taken the answer to this question."""
    for _ in range(ANSWER_LOOKS):
        found = await talk.find()
        if found is None or found.id != question.id:
            break
        await asyncio.sleep(ANSWER_LOOK_S)
    talk.tracker.go_on(question.id)
    if not talk.tracker.over:
        talk.over.clear()


async def _is_behind_a_question(talk: Talk, attached: AttachedGateway, looks: int) -> bool:
    """Return True if the message waits behind a question. A command runs in spite of one, so it
    gets some time first."""
    if talk.tracker.taken or talk.stop.asked:
        return False
    if is_command(talk.inbound.text) and looks < COMMAND_LOOKS:
        return False
    scene = await attached.scene(talk.key)
    return scene is not None and scene.phase == "asking" and not talk.tracker.taken


async def _watch(talk: Talk, attached: AttachedGateway) -> None:
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


async def _conclude(
    talk: Talk, attached: AttachedGateway, blocked: OpenQuestion | None = None
) -> None:
    question = await talk.question()
    if question is None and not talk.tracker.taken:  # it was answered while we left
        question = blocked
    session_id, turn, steps = await attached.outcome(talk.key, talk.tracker.turn)
    talk.printed.outcome = MessageOutcome(
        key=talk.key,
        session_id=session_id,
        turn=turn,
        steps=steps,
        replies=tuple(talk.tracker.replies),
        question=question,
    )


async def _unless(ended: "asyncio.Task[None]", work: Coroutine[None, None, None]) -> None:
    """Do the work, or raise the error of that task if it ends first."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        await (task if task.done() else ended)
    finally:
        await _end(task)


async def _end(task: "asyncio.Task[None]") -> None:
    """Cancel the task and ignore its result, which was reported before."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
