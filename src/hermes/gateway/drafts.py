"""Show a typing sign and the answer as it is written, while a turn runs.

The start of a draft is in the journal before it is sent, and its receipt right after, so the answer
replaces it even if its process died (C54). Drafts use only what the chat's send rate leaves free.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct, field

from hermes.core.channel import Manifest, Screen
from hermes.core.errors import ChannelFailed, ChannelSilent
from hermes.core.events import (
    DraftBegun,
    DraftShown,
    Event,
    QuestionAsked,
    TurnEnded,
    TurnInterrupted,
)
from hermes.core.ids import TurnId
from hermes.core.messages import Address, UnseenDraft
from hermes.core.outbox import Outbox
from hermes.core.session import Running
from hermes.core.signals import CallProgress, Recorded, Retrying, Signal, TextDelta
from hermes.gateway.send_rate import SendRate
from hermes.gateway.session_cache import ActiveSession, SessionCache
from hermes.gateway.windows import ReplyWindows
from hermes.text.links import without_addresses

WAIT_S = 4.0  # between two looks, where no sign of typing has to be repeated
SIGHT_S = 0.5  # how long a turn may take before its chat shows anything
RECORDED_S = 5.0  # how long a draft waits until it is written down
CHARS_MAX = 3_500
CLOSE_S = 2.0
DRAWN_MAX = 1_000
ENDS = (TurnEnded, TurnInterrupted, QuestionAsked)  # the draft's place is taken


class Sketch(Struct):
    """The draft of one turn: the text so far, and what the chat shows of it."""

    turn: TurnId
    address: Address
    active: ActiveSession
    receipt: str
    unseen: UnseenDraft | None  # begun by a process before us, or by us
    heard: str = ""  # the last of it, as much as a chat shows
    below: str = ""  # what its children do, as lines behind it
    shown: str = ""
    recorded: set[type[Event]] = field(default_factory=set)
    over: bool = False
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.heard, self.below) if part.strip())[-CHARS_MAX:]


class Drafts(Struct, kw_only=True):
    screens: Mapping[str, Screen]
    manifests: Mapping[str, Manifest]
    sessions: SessionCache
    pace: SendRate
    windows: ReplyWindows
    outbox: Outbox
    clock: Callable[[], float]
    is_sure: Callable[[], bool]  # that the sessions here are still ours
    wake: Callable[[ActiveSession], None]  # a session that waits writes down what is shown, too
    drawn: dict[TurnId, str]  # receipts of our drafts, shared with Delivery; "": no draft was sent
    _closing: bool = False
    _sketches: dict[TurnId, Sketch] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def notice(self, signal: Signal) -> None:
        """Handle a signal, synchronously."""
        match signal.glimpse:
            case TextDelta(text=text):
                if (sketch := self._sketches.get(signal.turn)) is not None:
                    sketch.heard = (sketch.heard + text)[-CHARS_MAX:]
            case CallProgress(text=text, replaces=True):
                if (sketch := self._sketches.get(signal.turn)) is not None:
                    sketch.below = text
                    sketch.bell.set()
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
        active = self.sessions.get(signal.session)
        if sketch is None:
            if active is not None and self.screens:
                self._begin(active)
            return
        sketch.recorded.update(map(type, events))
        if any(isinstance(event, ENDS) for event in events):
            sketch.over = True
        if active is None or active.session.turn is None or active.session.turn.id != sketch.turn:
            sketch.over = True
        sketch.bell.set()

    def _begin(self, active: ActiveSession) -> None:
        phase = active.session.phase
        if not isinstance(phase, Running) or phase.turn.epoch != active.epoch:
            return
        turn, platform = phase.turn, phase.turn.address.platform
        if platform not in self.screens or self._closing:
            return
        sketch = Sketch(
            turn=turn.id,
            address=turn.address,
            active=active,
            receipt=turn.draft,
            unseen=turn.unseen,
            recorded={DraftShown} if turn.draft else set(),
        )
        self._sketches[turn.id] = sketch
        task = asyncio.create_task(self._show(sketch, self.screens[platform]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show(self, sketch: Sketch, screen: Screen) -> None:
        manifest = self.manifests[sketch.address.platform]
        draft_s = manifest.draft_s if manifest.edits else 0.0
        typing_s = manifest.typing_s or WAIT_S
        typed_at = 0.0
        try:
            await self._rest(sketch, SIGHT_S)
            while not sketch.over and await self._may_write(sketch):
                now = asyncio.get_running_loop().time()
                if draft_s and sketch.text.strip() and sketch.text != sketch.shown:
                    await self._draw(sketch, screen)
                types = manifest.typing_s and not sketch.receipt and not sketch.over
                if types and now - typed_at >= typing_s:
                    typed_at = now
                    await self.pace.spare(sketch.address, lambda: screen.typing(sketch.address))
                await self._rest(sketch, draft_s or typing_s)
        finally:
            if self._sketches.get(sketch.turn) is sketch:
                del self._sketches[sketch.turn]

    async def _may_write(self, sketch: Sketch) -> bool:
        """Return False outside of the chat's reply window: a draft is a message, too."""
        return await self.windows.is_open(sketch.address, sketch.active.session.key)

    async def _draw(self, sketch: Sketch, screen: Screen) -> None:
        untrusted = "untrusted" in sketch.active.session.view.labels
        whole = sketch.text
        text = without_addresses(whole) if untrusted else whole
        if sketch.receipt:
            if DraftShown in sketch.recorded and await self.pace.spare(
                sketch.address, lambda: self._redraw(sketch, screen, text)
            ):
                sketch.shown = whole
            return
        if sketch.unseen is None and not await self._announced(sketch, screen, text):
            return
        await self.pace.spare(sketch.address, lambda: self._draw_first(sketch, screen))

    async def _announced(self, sketch: Sketch, screen: Screen, text: str) -> bool:
        """Record what is going to be shown. Return False if it could not be found again after a
        crash, because the end of the chat is unknown, or if the turn ended first."""
        behind = screen.end_of(sketch.address)
        if not behind:
            return False
        sketch.unseen = UnseenDraft(sketch.turn, text, behind)
        while len(self.drawn) >= DRAWN_MAX:
            del self.drawn[next(iter(self.drawn))]
        self.drawn[sketch.turn] = ""
        sketch.active.tell(DraftBegun(sketch.turn, text, behind, self.clock()))
        self.wake(sketch.active)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECORDED_S):
                while DraftBegun not in sketch.recorded and not sketch.over:
                    sketch.bell.clear()
                    await sketch.bell.wait()
        return DraftBegun in sketch.recorded and not sketch.over

    async def _draw_first(self, sketch: Sketch, screen: Screen) -> None:
        """Show what was announced, unless a process before us has done so already."""
        unseen = sketch.unseen
        assert unseen is not None, "a draft is announced before it is drawn"
        if not self.is_sure():
            return
        inherited = self.drawn.pop(sketch.turn, None) is None  # and nobody knows until we do
        try:
            receipt = await self._found(sketch, screen, unseen) if inherited else ""
            receipt = receipt or await screen.draft(sketch.address, unseen.text)
        except ChannelFailed as failed:
            if not inherited and not isinstance(failed, ChannelSilent):
                self.drawn[sketch.turn] = ""
            raise
        self.drawn[sketch.turn] = sketch.receipt = receipt
        sketch.active.tell(DraftShown(sketch.turn, receipt, self.clock()))
        self.wake(sketch.active)

    async def _found(self, sketch: Sketch, screen: Screen, unseen: UnseenDraft) -> str:
        address = sketch.address
        known = partial(self.outbox.has_receipt, address.platform, address.chat)
        chunks = (screen.draft_text(unseen.text),)
        return await screen.find(address, chunks, behind=unseen.behind, known=known)

    async def _redraw(self, sketch: Sketch, screen: Screen, text: str) -> None:
        if self.is_sure():
            await screen.redraft(sketch.address, sketch.receipt, text)

    async def _rest(self, sketch: Sketch, seconds: float) -> None:
        """Wait for a time, or until the turn ends."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not sketch.over and (left := deadline - asyncio.get_running_loop().time()) > 0:
            sketch.bell.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await sketch.bell.wait()
