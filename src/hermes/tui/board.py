"""What is known of the session that is looked at, folded from what the engine tells.

Does no input or output: what it is given it takes in, and what can be shown for good it gives back,
each thing once. The journal says what is true; live text is a preview that the next event confirms.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hermes.core import events as e
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Line, Outcome, Reply
from hermes.core.projection import replies_of
from hermes.core.signals import (
    CallProgress,
    Compacting,
    Recorded,
    Retrying,
    Signal,
    TextDelta,
    ThoughtDelta,
)
from hermes.tui.blocks import settled
from hermes.tui.questions import Question, asked
from hermes.tui.shown import Called, Prose, Remark, Said, Shown
from hermes.tui.tracks import Calls, Once, Queue
from hermes.views.honest import straight
from hermes.views.scene import Scene

RESUMED = "Going on with the turn that was interrupted."
REPEATED = "What stands above of this answer is void; it is asked for again."
REVISED = "The answer in full:"
FAILED = "The turn failed."
THOUGHT_CHARS = 400
_STOPPED = {
    "stopped": "",  # the reply to the command says it
    "interrupted": "Stopped for your next message.",
    "reset": "Stopped: another conversation begins.",
    "revoked": "Stopped: its person may not talk to me any more.",
}


@dataclass(kw_only=True)
class Board:
    """`heard` came since the last whole answer; the first `printed` characters of it are shown."""

    clock: Callable[[], float]
    turn: TurnId | None = None
    began_at: float = 0.0
    marked: bool = False  # the turn was interrupted and has not been taken up again
    position: int | None = None  # how far the journal has been seen
    quiet_until: int = 0  # what stands up to there was shown, or is not to be
    heard: str = ""
    printed: int = 0
    thinking: str = ""
    work: str = ""  # what is done beside the calls
    calls: Calls = field(default_factory=Calls)
    queue: Queue = field(default_factory=Queue)
    once: Once = field(default_factory=Once)
    question: Question | None = None
    asked_at: float = 0.0
    scene: Scene = field(default_factory=Scene)
    stale: bool = True  # the scene should be asked for again

    @property
    def busy(self) -> bool:
        return self.turn is not None

    @property
    def live(self) -> str:
        """What is heard of the answer and not on the screen for good."""
        return self.heard[self.printed :]

    def open(self, scene: Scene) -> Iterator[Shown]:
        """Somebody begins to look. The turn that is open is told by its events, which follow."""
        self.scene, self.stale = scene, False
        self.quiet_until = scene.head if scene.since is None else scene.since
        for line in scene.recent:
            yield from self._row(line)

    def rejoin(self) -> None:
        """Another process runs the session from here on; what was heard of an answer is void."""
        self._forget_text()
        self.stale = True

    def hear(self, signal: Signal) -> Iterator[Shown]:
        match signal.glimpse:
            case TextDelta(text=text):
                self.heard += straight(text)
                self.thinking = ""
                yield from self._settle()
            case ThoughtDelta(text=text):
                self.thinking = (self.thinking + straight(text))[-THOUGHT_CHARS:]
            case CallProgress(call=id_, text=text):
                self.calls.progress(id_, text)
            case Retrying(why=why):
                yield from self._retry(why)
            case Compacting(done=done, parts=parts):
                label = f"compressing the conversation, {done} of {parts}"
                self.work = label if done < parts else ""
            case Recorded(events=events, position=position):
                yield from self.take(events, position)

    def take(self, events: Sequence[e.Event], position: int) -> Iterator[Shown]:
        """These stand in the journal, the last one at this position."""
        for at, event in enumerate(events, position - len(events) + 1):
            if self.position is not None and at <= self.position:
                continue
            self.position = at
            spoken = list(self.queue.take(event))
            if at <= self.quiet_until:
                continue  # from before the turn that is open: only who waits is of interest
            if isinstance(event, e.TurnResumed):
                yield Remark(RESUMED)
            yield from spoken
            yield from self._take(event)
            for reply in replies_of(event):
                yield from self.once.show(reply)

    def deliver(self, reply: Reply) -> Iterator[Shown]:
        """A reply that waited for somebody to look; most are on the screen by their events."""
        yield from self.once.show(reply)

    def _take(self, event: e.Event) -> Iterator[Shown]:
        self.stale = self.stale or not isinstance(event, e.CallStarted | e.MessageReceived)
        match event:
            case e.TurnStarted(turn=turn, at=at) | e.TurnResumed(turn=turn, at=at):
                self.turn, self.began_at, self.marked = turn, at, False
                self._forget_text()
            case e.ModelAnswered():
                yield from self._confirm(event)
            case e.CallStarted(call=id_, at=at):
                self.calls.start(id_, at)
                self._closed(id_)
            case e.CallEnded(call=id_, outcome=outcome, text=text, at=at):
                self._closed(id_)
                ended = self.calls.end(id_, outcome, text, at)
                yield from [Called(ended)] if ended is not None else []
            case e.QuestionAsked():
                self.question, self.asked_at = asked(event), self.clock()
                self.once.mark(event.question.id)
            case e.QuestionAnswered():
                yield from self._decided(event)
            case e.TurnMarked():
                self.marked = True
            case e.TurnInterrupted(why=why):
                yield from self._cut_off(_STOPPED[why])
            case e.TurnEnded(outcome=outcome):
                self._end()
                yield from [Remark(FAILED, "bad")] if outcome == "failed" else []
            case e.SessionSuspended():
                self._end()
            case e.Compacted() | e.CompactionFailed():
                self.work = ""
            case _:
                pass

    def _settle(self) -> Iterator[Shown]:
        whole = settled(self.live)
        text = self.live[:whole]
        if text.strip():
            self.printed += whole
            yield Prose(text.strip("\n"))

    def _retry(self, why: str) -> Iterator[Shown]:
        if self.printed:
            yield Remark(REPEATED, "warn")
        self._forget_text()
        self.work = straight(why)

    def _confirm(self, event: e.ModelAnswered) -> Iterator[Shown]:
        """An answer is committed: what was heard of it is its beginning, the rest is the next."""
        text = straight(event.text)
        fits = text.startswith(self.heard[: self.printed])
        if self.printed and not fits:
            yield Remark(REVISED, "warn")
        rest = text[self.printed :] if fits else text
        if rest.strip():
            yield Prose(rest.strip("\n"))
        if text.strip():
            self.once.mark(text.strip())
        behind = self.heard[len(text) :] if text and self.heard.startswith(text) else ""
        self._forget_text()
        self.heard = behind
        self.calls.intend(event.calls)

    def _decided(self, event: e.QuestionAnswered) -> Iterator[Shown]:
        self._closed(event.call)
        call = self.calls.views.get(event.call)
        if event.text or not event.granted:
            outcome = Outcome.OK if event.granted else Outcome.DENIED
            self.calls.end(event.call, outcome, event.text, event.at)
        name = f"{call.tool}  {call.about}" if call is not None else "a call"
        word = ("Always allowed" if event.grant else "Allowed") if event.granted else "Denied"
        yield Remark(f"{word}: {name}", "good" if event.granted else "bad")

    def _cut_off(self, why: str) -> Iterator[Shown]:
        if self.live.strip():
            yield Prose(self.live.strip("\n"))
        yield from (Called(call) for call in self.calls.stop(self.clock()))
        if why:
            yield Remark(why, "warn")
        self._end()

    def _end(self) -> None:
        self.turn, self.question, self.marked = None, None, False
        self._forget_text()

    def _forget_text(self) -> None:
        self.heard, self.printed, self.thinking, self.work = "", 0, "", ""

    def _closed(self, call: CallId) -> None:
        if self.question is not None and self.question.call == call:
            self.question = None

    def _row(self, line: Line) -> Iterator[Shown]:
        """One of those that stood there before anybody looked."""
        text = straight(line.text).strip("\n")
        if line.role == "user":
            sender = "" if line.sender in ("", "owner") else straight(line.sender)
            yield Said(text or "(a file)", sender)
        elif line.role == "assistant":
            self.calls.intend(line.calls)
            if text.strip():
                self.once.mark(text.strip())
                yield Prose(text)
        else:
            ended = self.calls.end(line.call, line.outcome or Outcome.OK, line.text)
            yield from [Called(ended)] if ended is not None else []
