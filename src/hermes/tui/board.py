"""The state of the displayed session, folded from the engine's signals and events.

Pure: each input is folded into the state, and items that are final for the screen come back, each
once. The journal is the truth; live text is a preview that the next event confirms.
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
from hermes.text.visible_text import visible_lines
from hermes.tui.blocks import settled
from hermes.tui.questions import QuestionCard, question_card
from hermes.tui.tracks import CallViews, Once, Queue
from hermes.tui.transcript_items import CallSummary, NoticeLine, PersonText, Prose, TranscriptItem
from hermes.views.scene import Scene

RESUMED = "Resuming the interrupted turn."
REPEATED = "The answer above does not count; asking again."
WITHDRAWN = "The text above was a thought; the answer follows."
REVISED = "The answer in full:"
FAILED = "The turn failed."
THOUGHT_CHARS = 400
ABOUT_CHARS = 100  # of a call, on the line that says what was decided about it
UNANSWERED = "No answer came in time; I go on without one."
_STOPPED = {
    "stopped": "",  # the reply to the command says it
    "interrupted": "Stopped to answer your next message.",
    "reset": "Stopped: a new conversation begins.",
    "revoked": "Stopped: this person no longer has access.",
}


@dataclass(kw_only=True)
class Board:
    """The state of one session. `heard` is the text streamed since the last complete answer; its
    first `printed` characters are on the screen."""

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
    calls: CallViews = field(default_factory=CallViews)
    queue: Queue = field(default_factory=Queue)
    once: Once = field(default_factory=Once)
    question: QuestionCard | None = None
    asked_at: float = 0.0
    scene: Scene = field(default_factory=Scene)
    stale: bool = True  # the scene should be asked for again
    brought_back: bool = False  # another conversation goes on here: its messages are to be shown
    _returned: bool = False

    @property
    def busy(self) -> bool:
        return self.turn is not None

    @property
    def live(self) -> str:
        """Return the streamed text that is not on the screen for good yet."""
        return self.heard[self.printed :]

    def open(self, scene: Scene) -> Iterator[TranscriptItem]:
        """Begin to display the session. The events of an open turn follow."""
        self.quiet_until = scene.head if scene.since is None else scene.since
        yield from self.recall(scene)

    def recall(self, scene: Scene) -> Iterator[TranscriptItem]:
        """Yield the earlier messages of the conversation that goes on here."""
        self.scene, self.stale, self.brought_back = scene, False, False
        for line in scene.recent:
            yield from self._row(line)

    def rejoin(self) -> None:
        """Forget the streamed text: another process runs the session from here on."""
        self._forget_text()
        self.stale = True

    def hear(self, signal: Signal) -> Iterator[TranscriptItem]:
        match signal.glimpse:
            case TextDelta(text=text):
                self.heard += visible_lines(text)
                self.thinking = ""
                yield from self._settle()
            case ThoughtDelta(text=text):
                self.thinking = (self.thinking + visible_lines(text))[-THOUGHT_CHARS:]
            case CallProgress(call=id_, text=text, replaces=replaces):
                self.calls.progress(id_, text, replaces=replaces)
            case Retrying(why=why):
                yield from self._retry(why)
            case Compacting(done=done, parts=parts):
                label = f"compressing the conversation, {done} of {parts}"
                self.work = label if done < parts else ""
            case Recorded(events=events, position=position):
                yield from self.take(events, position)

    def take(self, events: Sequence[e.Event], position: int) -> Iterator[TranscriptItem]:
        """Take events from the journal; the last one has this position."""
        for at, event in enumerate(events, position - len(events) + 1):
            if self.position is not None and at <= self.position:
                continue
            self.position = at
            spoken = list(self.queue.take(event))
            if at <= self.quiet_until:
                continue  # from before the turn that is open: only who waits is of interest
            if isinstance(event, e.TurnResumed):
                yield NoticeLine(RESUMED)
            yield from spoken
            yield from self._take(event)
            self._note_return(event)
            for reply in replies_of(event):
                yield from self.once.show(reply)

    def deliver(self, reply: Reply) -> Iterator[TranscriptItem]:
        """Show a reply that waited for a window. Most replies are already shown by their events."""
        yield from self.once.show(reply)

    def _take(self, event: e.Event) -> Iterator[TranscriptItem]:
        self.stale = self.stale or not isinstance(event, e.CallStarted | e.MessageReceived)
        match event:
            case e.TurnStarted(turn=turn, at=at) | e.TurnResumed(turn=turn, at=at):
                self.turn, self.began_at, self.marked = turn, at, False
                self._forget_text()
            case e.ModelAnswered():
                yield from self._confirm(event)
            case e.CallStarted(call=id_, at=at):
                self.calls.start(id_, at)
                self._close_question(id_)
            case e.CallEnded(call=id_, outcome=outcome, text=text, at=at, diff=diff):
                self._close_question(id_)
                ended = self.calls.end(id_, outcome, text, at, diff=diff)
                yield from [CallSummary(ended)] if ended is not None else []
            case e.QuestionAsked():
                self.question, self.asked_at = question_card(event), self.clock()
                self.once.mark(event.question.id)
            case e.QuestionAnswered():
                yield from self._decided(event)
            case e.TurnMarked():
                self.marked = True
            case e.TurnInterrupted(why=why):
                yield from self._cut_off(_STOPPED[why])
            case e.TurnEnded(outcome=outcome):
                self._end()
                yield from [NoticeLine(FAILED, "bad")] if outcome == "failed" else []
            case e.SessionSuspended():
                self._end()
            case e.Compacted() | e.CompactionFailed():
                self.work = ""
            case _:
                pass

    def _note_return(self, event: e.Event) -> None:
        """Detect that an earlier conversation was resumed: a reset, followed by the command that
        caused it."""
        if isinstance(event, e.SessionReset):
            self._returned = bool(event.view.spans)
        elif isinstance(event, e.CommandRun) and self._returned:
            self._returned, self.brought_back = False, True

    def _settle(self) -> Iterator[TranscriptItem]:
        whole = settled(self.live)
        text = self.live[:whole]
        if text.strip():
            self.printed += whole
            yield Prose(text.strip("\n"))

    def _retry(self, why: str) -> Iterator[TranscriptItem]:
        if self.printed:
            yield NoticeLine(REPEATED if why else WITHDRAWN, "warn")
        self._forget_text()
        self.work = visible_lines(why)

    def _confirm(self, event: e.ModelAnswered) -> Iterator[TranscriptItem]:
        """Take a committed answer. The streamed text is its beginning; text beyond it belongs to
        the next answer."""
        text = visible_lines(event.text)
        fits = text.startswith(self.heard[: self.printed])
        if self.printed and not fits:
            yield NoticeLine(REVISED, "warn")
        rest = text[self.printed :] if fits else text
        if rest.strip():
            yield Prose(rest.strip("\n"))
        if text.strip():
            self.once.mark(text.strip())
        behind = self.heard[len(text) :] if text and self.heard.startswith(text) else ""
        self._forget_text()
        self.heard = behind
        self.calls.intend(event.calls)

    def _decided(self, event: e.QuestionAnswered) -> Iterator[TranscriptItem]:
        asked = self.question
        self._close_question(event.call)
        call = self.calls.views.get(event.call)
        if event.text or not event.granted:
            outcome = Outcome.OK if event.granted else Outcome.DENIED
            self.calls.end(event.call, outcome, event.text, event.at)
        if asked is not None and asked.call == event.call and asked.words:
            text = " ".join(visible_lines(event.text).split())
            yield NoticeLine(f"Your answer: {text}" if event.by else UNANSWERED, "good")
            return
        about = " ".join(call.about.split())[:ABOUT_CHARS] if call is not None else ""
        name = f"{call.tool}  {about}" if call is not None else "a call"
        lasting = "Always allowed" if event.grant else "Allowed"
        lasting = "Allowed for this session" if event.session_grant else lasting
        word = lasting if event.granted else "Denied"
        yield NoticeLine(f"{word}: {name}", "good" if event.granted else "bad")

    def _cut_off(self, why: str) -> Iterator[TranscriptItem]:
        if self.live.strip():
            yield Prose(self.live.strip("\n"))
        yield from (CallSummary(call) for call in self.calls.stop(self.clock()))
        if why:
            yield NoticeLine(why, "warn")
        self._end()

    def _end(self) -> None:
        self.turn, self.question, self.marked = None, None, False
        self._forget_text()

    def _forget_text(self) -> None:
        self.heard, self.printed, self.thinking, self.work = "", 0, "", ""

    def _close_question(self, call: CallId) -> None:
        if self.question is not None and self.question.call == call:
            self.question = None

    def _row(self, line: Line) -> Iterator[TranscriptItem]:
        """Yield the items of a message from before the window opened."""
        text = visible_lines(line.text).strip("\n")
        if line.role == "user":
            sender = "" if line.sender in ("", "owner") else visible_lines(line.sender)
            yield PersonText(text or "(a file)", sender)
        elif line.role == "assistant":
            self.calls.intend(line.calls)
            if text.strip():
                self.once.mark(text.strip())
                yield Prose(text)
        else:
            ended = self.calls.end(line.call, line.outcome or Outcome.OK, line.text)
            yield from [CallSummary(ended)] if ended is not None else []
