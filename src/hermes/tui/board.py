"""What is known of the session that is looked at, folded from what the engine tells.

Does no input or output: what it is given it takes in, and what can be shown for good it gives back,
each thing once. The journal says what is true; live text is a preview that the next event confirms.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Inbound, Line, Outcome, Reply
from hermes.core.projection import replies_of
from hermes.core.session import ref
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
from hermes.tui.calls import CALLS_KEPT, CallView, seen, tail
from hermes.tui.questions import Question, asked
from hermes.tui.shown import Called, Prose, Remark, Said, Shown, Told
from hermes.views.honest import straight
from hermes.views.scene import Scene

RESUMED = "Going on with the turn that was interrupted."
REPEATED = "What stands above of this answer is void; it is asked for again."
REVISED = "The answer in full:"
REPLIES_KEPT = 500
_TELL_THEMSELVES = ("/approve", "/deny", "/steer", "/stop")  # by what they bring about
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
    position: int | None = None  # how far the journal has been seen
    quiet_until: int = 0  # what stands up to there was shown, or is not to be
    heard: str = ""
    printed: int = 0
    marked: bool = False  # the turn was interrupted and has not been taken up again
    thinking: str = ""
    work: str = ""  # what is done beside the calls
    calls: dict[CallId, CallView] = field(default_factory=dict)
    waiting: dict[str, Inbound] = field(default_factory=dict)
    question: Question | None = None
    asked_at: float = 0.0
    scene: Scene = field(default_factory=Scene)
    stale: bool = True  # the scene should be asked for again
    _replies: dict[str, None] = field(default_factory=dict)  # ids and texts that are on the screen

    @property
    def busy(self) -> bool:
        return self.turn is not None

    @property
    def live(self) -> str:
        """What is heard of the answer and not on the screen for good."""
        return self.heard[self.printed :]

    @property
    def running(self) -> Sequence[CallView]:
        return [call for call in self.calls.values() if call.running]

    @property
    def finished(self) -> Sequence[CallView]:
        return [call for call in self.calls.values() if call.outcome is not None]

    def open(self, scene: Scene) -> Iterator[Shown]:
        """Somebody begins to look. The turn that is open is told by its events, which follow."""
        self.scene, self.stale = scene, False
        self.quiet_until = scene.head if scene.since is None else scene.since
        calls: dict[CallId, CallView] = {}
        for line in scene.recent:
            yield from self._row(line, calls)
        self._keep(calls)

    def rejoin(self) -> None:
        """Another process runs the session from here on; what was heard of an answer is void."""
        self.heard, self.printed, self.thinking, self.work = "", 0, "", ""
        self.stale = True

    def hear(self, signal: Signal) -> Iterator[Shown]:
        match signal.glimpse:
            case TextDelta(text=text):
                self.heard += straight(text)
                self.thinking = ""
                yield from self._settle()
            case ThoughtDelta(text=text):
                self.thinking = (self.thinking + straight(text))[-400:]
            case CallProgress(call=id_, text=text) if id_ in self.calls:
                before = self.calls[id_]
                self.calls[id_] = replace(before, output=tail(before.output, text))
            case Retrying(why=why):
                yield from self._retry(why)
            case Compacting(done=done, parts=parts):
                label = f"compressing the conversation, {done} of {parts}"
                self.work = label if done < parts else ""
            case Recorded(events=events, position=position):
                yield from self.take(events, position)
            case _:
                pass

    def take(self, events: Sequence[e.Event], position: int) -> Iterator[Shown]:
        """These stand in the journal, the last one at this position."""
        for at, event in enumerate(events, position - len(events) + 1):
            if self.position is not None and at <= self.position:
                continue
            self.position = at
            if at <= self.quiet_until:
                self._recall(event)
                continue
            yield from self._take(event)
            yield from self._answered(event)

    def deliver(self, reply: Reply) -> Iterator[Shown]:
        """A reply that waited for somebody to look; most are on the screen by their events."""
        yield from self._reply(reply)

    def _settle(self) -> Iterator[Shown]:
        whole = settled(self.live)
        if whole and self.live[:whole].strip():
            text = self.live[:whole]
            self.printed += whole
            yield Prose(text.strip("\n"))

    def _retry(self, why: str) -> Iterator[Shown]:
        if self.printed:
            yield Remark(REPEATED, "warn")
        self.heard, self.printed = "", 0
        self.work = straight(why)

    def _recall(self, event: e.Event) -> None:
        """From before the turn that is open: only who waits is of interest."""
        match event:
            case e.MessageReceived(inbound=inbound):
                self.waiting[ref(inbound)] = inbound
            case e.CommandRun(message=message) | e.MessageDropped(message=message):
                self.waiting.pop(message, None)
            case e.TurnStarted(messages=messages) | e.TurnResumed(messages=messages):
                for message in messages:
                    self.waiting.pop(message, None)
            case e.TurnSteered(message=message) | e.MessageRelayed(message=message):
                self.waiting.pop(message, None)
            case _:
                pass

    def _take(self, event: e.Event) -> Iterator[Shown]:
        match event:
            case e.MessageReceived(inbound=inbound):
                self.waiting[ref(inbound)] = inbound
            case e.CommandRun(message=message):
                yield from self._obeyed(message)
            case e.MessageDropped(message=message):
                self.waiting.pop(message, None)
            case e.TurnStarted(turn=turn, messages=messages, at=at):
                self._begin(turn, at)
                yield from self._spoken(messages)
            case e.TurnResumed(turn=turn, messages=messages, at=at):
                yield Remark(RESUMED)
                self._begin(turn, at)
                yield from self._spoken(messages)
            case e.TurnSteered(message=message, text=text):
                self.waiting.pop(message, None)
                yield Said(straight(text), "steered")
            case e.ModelAnswered():
                yield from self._confirm(event)
            case e.Compacted() | e.CompactionFailed():
                self.work = ""
                self.stale = True
            case e.SessionReset() | e.FactSet() | e.SessionSuspended():
                self.stale = True
                if isinstance(event, e.SessionSuspended):
                    self._end()
            case _:
                yield from self._take_of_turn(event)

    def _take_of_turn(self, event: e.Event) -> Iterator[Shown]:
        match event:
            case e.CallStarted(call=id_, at=at) if id_ in self.calls:
                call = self.calls[id_]
                begun = at if call.started_at is None else call.started_at
                self.calls[id_] = replace(call, started_at=begun)
                self._closed(id_)
            case e.CallEnded(call=id_) if id_ in self.calls:
                yield from self._ended(event)
            case e.QuestionAsked():
                self.question, self.asked_at = asked(event), self.clock()
                self._note(event.question)
                self.stale = True
            case e.QuestionAnswered(call=id_):
                yield from self._decided(event)
            case e.TurnMarked():
                self.marked = True
            case e.TurnInterrupted(why=why):
                yield from self._cut_off(_STOPPED[why])
            case e.TurnEnded(outcome=outcome):
                yield from self._over(failed=outcome == "failed")
            case _:
                pass

    def _begin(self, turn: TurnId, at: float) -> None:
        self.turn, self.began_at, self.marked = turn, at, False
        self.heard, self.printed, self.thinking, self.work = "", 0, "", ""

    def _spoken(self, messages: Sequence[str]) -> Iterator[Shown]:
        for message in messages:
            inbound = self.waiting.pop(message, None)
            if inbound is not None:
                yield said(inbound)

    def _obeyed(self, message: str) -> Iterator[Shown]:
        inbound = self.waiting.pop(message, None)
        self.stale = True
        if inbound is not None and not inbound.text.startswith(_TELL_THEMSELVES):
            yield said(inbound)

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
            self._mark(text.strip())
        self.heard = self.heard[len(text) :] if text and self.heard.startswith(text) else ""
        self.printed, self.thinking, self.work, self.stale = 0, "", "", True
        self._keep({call.id: seen(call) for call in event.calls})

    def _ended(self, event: e.CallEnded) -> Iterator[Shown]:
        call = replace(
            self.calls[event.call],
            ended_at=event.at,
            outcome=event.outcome,
            output=tail("", event.text),
        )
        self.calls[event.call] = call
        self._closed(event.call)
        yield Called(call)

    def _decided(self, event: e.QuestionAnswered) -> Iterator[Shown]:
        self._closed(event.call)
        self.stale = True
        call = self.calls.get(event.call)
        if call is not None and (event.text or not event.granted):
            outcome = Outcome.OK if event.granted else Outcome.DENIED
            output = tail("", event.text)
            self.calls[event.call] = replace(call, outcome=outcome, output=output)
        name = f"{call.tool}  {call.about}" if call is not None else "a call"
        word = ("Always allowed" if event.grant else "Allowed") if event.granted else "Denied"
        yield Remark(f"{word}: {name}", "good" if event.granted else "bad")

    def _cut_off(self, why: str) -> Iterator[Shown]:
        if self.live.strip():
            yield Prose(self.live.strip("\n"))
        for id_, call in self.calls.items():
            if call.running:
                self.calls[id_] = replace(call, outcome=Outcome.STOPPED, ended_at=self.clock())
                yield Called(self.calls[id_])
        if why:
            yield Remark(why, "warn")
        self._end()

    def _over(self, *, failed: bool) -> Iterator[Shown]:
        self._end()
        if failed:
            yield Remark("The turn failed.", "bad")

    def _end(self) -> None:
        self.turn, self.question, self.marked = None, None, False
        self.heard, self.printed, self.thinking, self.work = "", 0, "", ""
        self.stale = True

    def _closed(self, call: CallId) -> None:
        if self.question is not None and self.question.call == call:
            self.question = None

    def _answered(self, event: e.Event) -> Iterator[Shown]:
        for reply in replies_of(event):
            yield from self._reply(reply)

    def _reply(self, reply: Reply) -> Iterator[Shown]:
        """Once, whether it came by its event, by delivery, or as the text of an answer."""
        text = straight(reply.text).strip()
        if reply.id in self._replies:
            return
        known = text in self._replies and reply.kind == "answer"
        self._note(reply)
        if text and not known:
            yield Prose(text) if reply.kind == "answer" else Told(text)

    def _note(self, reply: Reply) -> None:
        self._mark(reply.id)

    def _mark(self, name: str) -> None:
        self._replies[name] = None
        while len(self._replies) > REPLIES_KEPT:
            del self._replies[next(iter(self._replies))]

    def _keep(self, more: dict[CallId, CallView]) -> None:
        """Some of the latest can be unfolded."""
        self.calls |= more
        old = [id_ for id_, call in self.calls.items() if call.outcome is not None]
        for id_ in old[: max(0, len(self.calls) - CALLS_KEPT)]:
            del self.calls[id_]

    def _row(self, line: Line, calls: dict[CallId, CallView]) -> Iterator[Shown]:
        text = straight(line.text).strip("\n")
        if line.role == "user":
            yield Said(text or "(a file)", "" if line.sender in ("", "owner") else line.sender)
        elif line.role == "assistant":
            calls |= {call.id: seen(call) for call in line.calls}
            if text.strip():
                self._mark(text.strip())
                yield Prose(text)
        elif line.call in calls:
            outcome = line.outcome or Outcome.OK
            call = replace(calls[line.call], outcome=outcome, output=tail("", line.text))
            calls[line.call] = call
            yield Called(call)


def said(inbound: Inbound) -> Said:
    """As its person wrote it, with what came along."""
    files = [f"[{media.name or media.media_type}]" for media in inbound.media]
    text = " ".join([straight(inbound.text), *files]).strip()
    note = "" if inbound.sender.id == "owner" else inbound.sender.name or inbound.sender.id
    return Said(text, straight(note or ("" if inbound.origin == "person" else inbound.origin)))
