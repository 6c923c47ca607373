"""What a chat shows while a turn runs: a sign of typing, and the answer as it is written.

A draft is remembered in the journal with its receipt, and the answer takes its place: also when
the process that began it is gone (C54). It uses what the chat's budget has left, never more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from hermes.core.channel import Manifest, Screen
from hermes.core.errors import ChannelFailed
from hermes.core.events import DraftShown, Event, TurnEnded, TurnInterrupted
from hermes.core.ids import TurnId
from hermes.core.messages import Address, Reply
from hermes.core.projection import replies_of
from hermes.core.session import Running
from hermes.core.signals import Recorded, Retrying, Signal, TextDelta
from hermes.gateway.lanes import Lane, Lanes
from hermes.gateway.pace import Pace

TYPING_S = 4.0
SIGHT_S = 0.5  # how long a turn may take before its chat shows anything
CHARS_MAX = 3_500
CLOSE_S = 2.0


class Sketch(Struct):
    """The draft of one turn: what has been heard, and what the chat shows of it."""

    turn: TurnId
    address: Address
    lane: Lane
    receipt: str
    heard: str = ""
    shown: str = ""
    over: bool = False
    replaced: bool = False  # a reply takes the draft's place
    bell: asyncio.Event = field(default_factory=asyncio.Event)


class Drafts(Struct, kw_only=True):
    screens: Mapping[str, Screen]
    manifests: Mapping[str, Manifest]
    lanes: Lanes
    pace: Pace
    clock: Callable[[], float]
    is_sure: Callable[[], bool]  # that the sessions here are still ours
    _closing: bool = False
    _sketches: dict[TurnId, Sketch] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def notice(self, signal: Signal) -> None:
        """Hears every signal, at once."""
        match signal.glimpse:
            case TextDelta(text=text):
                if (sketch := self._sketches.get(signal.turn)) is not None:
                    sketch.heard += text
            case Retrying():
                if (sketch := self._sketches.get(signal.turn)) is not None:
                    sketch.heard = ""
            case Recorded(events=events):
                self._recorded(signal, events)
            case _:
                pass

    async def close(self) -> None:
        """Show nothing more. What is on its way may arrive, so that its receipt is known."""
        self._closing = True
        for sketch in self._sketches.values():
            sketch.over = True
            sketch.bell.set()
        tasks = set(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)
        for task in tasks:
            task.cancel()

    def _recorded(self, signal: Signal, events: tuple[Event, ...]) -> None:
        sketch = self._sketches.get(signal.turn)
        lane = self.lanes.get(signal.session)
        if sketch is None:
            if lane is not None and self.screens:
                self._begin(lane)
            return
        for event in events:
            sketch.replaced |= any(_takes_place(reply, sketch) for reply in replies_of(event))
            if isinstance(event, TurnEnded | TurnInterrupted):
                sketch.over = True
        if lane is None or lane.session.turn is None or lane.session.turn.id != sketch.turn:
            sketch.over = True
        sketch.bell.set()

    def _begin(self, lane: Lane) -> None:
        phase = lane.session.phase
        if not isinstance(phase, Running) or phase.turn.epoch != lane.epoch:
            return
        turn, platform = phase.turn, phase.turn.address.platform
        if platform not in self.screens or self._closing:
            return
        sketch = Sketch(turn=turn.id, address=turn.address, lane=lane, receipt=turn.draft)
        self._sketches[turn.id] = sketch
        task = asyncio.create_task(self._show(sketch, self.screens[platform]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show(self, sketch: Sketch, screen: Screen) -> None:
        draft_s = self.manifests[sketch.address.platform].draft_s
        typed_at = 0.0
        try:
            await self._rest(sketch, SIGHT_S)
            while not sketch.over:
                now = asyncio.get_running_loop().time()
                if draft_s and sketch.heard.strip() and sketch.heard != sketch.shown:
                    await self._draw(sketch, screen)
                elif not sketch.receipt and now - typed_at >= TYPING_S:
                    typed_at = now
                    await self.pace.spare(sketch.address, lambda: screen.typing(sketch.address))
                await self._rest(sketch, draft_s or TYPING_S)
            if sketch.receipt and not sketch.replaced and not self._closing:
                with contextlib.suppress(ChannelFailed):
                    async with self.pace.message(sketch.address):
                        await screen.remove(sketch.address, sketch.receipt)
        finally:
            self._sketches.pop(sketch.turn, None)

    async def _draw(self, sketch: Sketch, screen: Screen) -> None:
        text = sketch.heard[-CHARS_MAX:]

        async def act() -> None:
            if not self.is_sure():
                return
            if sketch.receipt:
                await screen.redraft(sketch.address, sketch.receipt, text)
                return
            sketch.receipt = await screen.draft(sketch.address, text)
            sketch.lane.tell(DraftShown(sketch.turn, sketch.receipt, self.clock()))

        if await self.pace.spare(sketch.address, act):
            sketch.shown = sketch.heard

    async def _rest(self, sketch: Sketch, seconds: float) -> None:
        """A while, or until the turn is over."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not sketch.over and (left := deadline - asyncio.get_running_loop().time()) > 0:
            sketch.bell.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await sketch.bell.wait()


def _takes_place(reply: Reply, sketch: Sketch) -> bool:
    return bool(reply.replaces) and reply.replaces == sketch.receipt
