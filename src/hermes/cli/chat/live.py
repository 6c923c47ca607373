"""Show a turn in progress on a terminal: the streamed answer, and the running calls.

The journal is the truth; streamed text is a preview that the next commit confirms.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle

from hermes.cli.output.console import Console
from hermes.cli.output.wrapping import StreamWrapper
from hermes.core.events import (
    CallEnded,
    CallStarted,
    Event,
    ModelAnswered,
    TurnResumed,
    TurnStarted,
)
from hermes.core.ids import CallId, SessionKey
from hermes.core.messages import Call, Outcome
from hermes.core.signals import CallProgress, Compacting, Retrying, Signal, TextDelta
from hermes.core.store import Journal
from hermes.text.visible_text import visible
from hermes.views.call_line import compact, cut, why_failed

TICK_S = 0.05
LABEL_CHARS, FRAME_CELLS = 60, 3
WHY_CHARS = 200
RESUMED = "Resuming the interrupted turn:"
WITHDRAWN = "(The text above was a thought; the answer follows.)"
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
News = Callable[[], Awaitable[Sequence[Event]]]
BEFORE_AN_ANSWER = (TurnStarted, TurnResumed, ModelAnswered, CallEnded)


class LiveView:
    """The display of one turn. `heard` is the text streamed since the last complete answer; its
    first `shown` characters are on the screen."""

    def __init__(self, console: Console, key: SessionKey, *, wanted: bool) -> None:
        self._console = console
        self._key = key
        self._streams = wanted and console.stdout.isatty()
        self._spins = wanted and console.colours(console.stderr)
        self._frames = cycle(FRAMES)
        self._heard = ""
        self._shown = 0
        self._whole = True  # what is heard now begins with an answer's first word
        self._calls: dict[CallId, Call] = {}
        self._running: dict[CallId, str] = {}
        self._progress = ""
        self._work = ""  # what is done beside the calls
        self._spinning = False  # the spinner stands on the current line
        self._wrapper = StreamWrapper(console.width(console.stdout))
        self._paused = False  # a person is being asked something
        self.said: list[str] = []  # whole answers that stand on the screen

    @property
    def watching(self) -> bool:
        """Return True if the terminal can show the turn while it runs."""
        return self._streams or self._spins

    def emit(self, signal: Signal) -> None:
        if signal.session != self._key:
            return
        match signal.glimpse:
            case TextDelta(text=text):
                self._heard += text if self._whole else ""
            case CallProgress(text=text):
                self._progress = text
            case Retrying(why=why):
                self._retry(why)
            case Compacting(done=done, parts=parts):
                label = f"compressing the conversation, {done} of {parts}"
                self._work = label if done < parts else ""
            case _:
                pass

    def take(self, events: Iterable[Event], *, fresh: bool = True) -> None:
        """Take committed events in order. `fresh`: they were committed just now; after older ones
        the next answer may already be streaming."""
        if self.watching:
            for event in events:
                self._whole = self._whole or (fresh and isinstance(event, BEFORE_AN_ANSWER))
                self._take(event)

    def join(self) -> None:
        """Forget the streamed text: another process runs the session now, and may be in mid-
        answer."""
        self.aside()
        self._heard, self._shown, self._progress = "", 0, ""
        self._whole = False
        self._running.clear()

    def aside(self) -> None:
        """Prepare for other output: remove the spinner and start a new line."""
        self._clear()
        if self._shown:
            self._end_line()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Draw nothing while the block runs, because a question is on the screen."""
        self.aside()
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    @asynccontextmanager
    async def following(self, journal: Journal, position: int) -> AsyncIterator[None]:
        """Show what is committed to the session behind this position while the block runs."""
        self._whole = True
        look = _Look(journal, self._key, position)
        async with self.showing(look.news):
            yield

    @asynccontextmanager
    async def showing(self, news: News | None = None) -> AsyncIterator[None]:
        """Show streamed and committed content while the block runs; events come from `news`, if
        given."""
        if not self.watching:
            yield
            return
        ticking = asyncio.create_task(self._tick(news))
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait({ticking})
            self._clear()
        if not ticking.cancelled():
            ticking.result()  # it ended by itself, so it failed: say why
        await self._look(news)
        if self._shown:  # an answer that was begun and never committed
            self._end_line()
        self._heard, self._shown, self._progress = "", 0, ""

    async def _tick(self, news: News | None) -> None:
        while True:
            if not self._paused:
                await self._look(news)
                self._spin()
            await asyncio.sleep(TICK_S)

    async def _look(self, news: News | None) -> None:
        """Take committed events first: text that is streamed now may belong to the next answer."""
        if news is not None:
            self.take(await news())
        if self._streams and len(self._heard) > self._shown:
            self._print(self._heard[self._shown :])
            self._shown = len(self._heard)

    def _take(self, event: Event) -> None:
        match event:
            case TurnResumed():
                self._remark(RESUMED)
            case ModelAnswered(text=text, calls=calls):
                self._confirm(text)
                self._calls |= {call.id: call for call in calls}
            case CallStarted(call=id_) if id_ in self._calls:
                self._running[id_] = compact(self._calls[id_], LABEL_CHARS)
                self._remark(f"→ {self._running[id_]}")
            case CallEnded(call=id_, outcome=outcome, text=text):
                label = self._running.pop(id_, "")
                self._progress = ""
                if label and outcome is not Outcome.OK:
                    why = cut(why_failed(text), WHY_CHARS) if outcome is Outcome.FAILED else ""
                    said = f"{outcome.value}{f' ({why})' if why else ''}"
                    self._remark(f"  {label.partition(' ')[0]}: {said}")
            case _:
                pass

    def _confirm(self, text: str) -> None:
        """Take a committed answer. The streamed text is its beginning; text beyond it belongs to
        the next answer."""
        if not self._streams:
            return
        fits = text.startswith(self._heard[: self._shown]) and bool(text)
        if fits:
            self._print(text[self._shown :])
        if self._shown or fits:
            self._end_line()
        self.said += [text] if fits else []
        self._heard = self._heard[len(text) :] if self._heard.startswith(text) else ""
        self._shown = 0

    def _retry(self, why: str) -> None:
        """Discard the text of a failed attempt, or (without a reason) what turned out to be a
        thought. What follows begins on a new line."""
        if self._shown:
            self._end_line()
        if not why:
            if self._shown:
                self._remark(WITHDRAWN)
            self._heard, self._shown = "", 0
            return
        self._remark(
            f"({why} The text above does not count; asking again.)" if self._shown else why
        )
        self._heard, self._shown = "", 0

    def _print(self, text: str) -> None:
        self._clear()
        self._console.write(self._wrapper.feed(visible(text)))

    def _end_line(self) -> None:
        self._console.write(f"{self._wrapper.end()}\n")

    def _remark(self, text: str) -> None:
        if self._spins:
            self._clear()
            self._console.tell(text)

    def _spin(self) -> None:
        if not self._spins or (self._streams and self._shown):
            return
        label = self._work or next(iter(self._running.values()), "thinking")
        last = self._progress.rstrip().rpartition("\n")[2]
        room = min(LABEL_CHARS, self._console.width(self._console.stderr) - FRAME_CELLS)
        line = cut(f"{label}  {last}" if last else label, room)
        self._console.stderr.write(f"\r{self._console.dim(f'{next(self._frames)} {line}')}\x1b[K")
        self._console.stderr.flush()
        self._spinning = True

    def _clear(self) -> None:
        """Remove the spinner, and nothing else, before other output."""
        if self._spinning:
            self._console.stderr.write("\r\x1b[K")
            self._console.stderr.flush()
            self._spinning = False


class _Look:
    """Read a session's journal, each time from where the last read ended."""

    def __init__(self, journal: Journal, key: SessionKey, position: int) -> None:
        self._journal = journal
        self._key = key
        self._position = position

    async def news(self) -> Sequence[Event]:
        events = await self._journal.since(self._key, self._position)
        self._position += len(events)
        return events
