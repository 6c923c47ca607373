"""The calls of a session, its waiting messages, and the replies that were shown before."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import CallId
from hermes.core.messages import Call, Inbound, Outcome, Reply
from hermes.core.session import ref
from hermes.text.quoting import unfenced
from hermes.text.visible_text import visible_lines
from hermes.tui.calls import CALLS_KEPT, CallView, call_view, tail
from hermes.tui.transcript_items import HermesText, PersonText, Prose, TranscriptItem

REPLIES_KEPT = 500


@dataclass
class CallViews:
    """The latest calls, kept so that they can be unfolded."""

    views: dict[CallId, CallView] = field(default_factory=dict)

    @property
    def running(self) -> Sequence[CallView]:
        return [call for call in self.views.values() if call.running]

    @property
    def finished(self) -> Sequence[CallView]:
        return [call for call in self.views.values() if call.outcome is not None]

    def intend(self, calls: Iterable[Call]) -> None:
        self.views |= {call.id: call_view(call) for call in calls}
        over = [call.id for call in self.finished]
        for id_ in over[: max(0, len(self.views) - CALLS_KEPT)]:
            del self.views[id_]

    def start(self, id_: CallId, at: float) -> None:
        """Note that a call began. A call restarted after a crash keeps its first start time."""
        call = self.views.get(id_)
        if call is not None and call.started_at is None:
            self.views[id_] = replace(call, started_at=at)

    def progress(self, id_: CallId, text: str, *, replaces: bool = False) -> None:
        call = self.views.get(id_)
        if call is not None:
            before = "" if replaces else call.output
            self.views[id_] = replace(call, output=tail(before, text), whole=replaces)

    def end(
        self,
        id_: CallId,
        outcome: Outcome,
        text: str,
        at: float | None = None,
        *,
        diff: str = "",
    ) -> CallView | None:
        call = self.views.get(id_)
        if call is None:
            return None
        made = visible_lines(diff) or call.diff
        output = tail("", unfenced(text))
        ended = replace(call, outcome=outcome, ended_at=at, output=output, diff=made, whole=False)
        self.views[id_] = ended
        return ended

    def stop(self, at: float) -> Iterator[CallView]:
        """Mark the running calls as stopped with their turn."""
        for call in self.running:
            stopped = replace(call, outcome=Outcome.STOPPED, ended_at=at)
            self.views[call.id] = stopped
            yield stopped


@dataclass
class Queue:
    """Messages that no turn has taken yet."""

    waiting: dict[str, Inbound] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)  # from here; the journal has not told what became

    @property
    def texts(self) -> Sequence[str]:
        return [inbound.text for inbound in self.waiting.values() if inbound.text]

    def take(self, event: e.Event) -> Iterator[PersonText]:
        """Take an event. Yield the messages that it moves into the conversation."""
        match event:
            case e.MessageReceived(inbound=inbound):
                if inbound.settles is None:  # a part of a call's result is no message
                    self.waiting[ref(inbound)] = inbound
            case e.TurnStarted(messages=messages) | e.TurnResumed(messages=messages):
                self.sent.difference_update(messages)
                known = [message for message in messages if message in self.waiting]
                yield from [person_text(self.waiting.pop(message)) for message in known]
            case e.CommandRun(message=message):
                self.sent.discard(message)
                ordered = self.waiting.pop(message, None)
                if ordered is not None and not ordered.text.startswith(_TELL_THEMSELVES):
                    yield person_text(ordered)
            case e.TurnSteered(message=message, text=text):
                self.sent.discard(message)
                self.waiting.pop(message, None)
                yield PersonText(visible_lines(text), "steered")
            case e.MessageDropped(message=message) | e.MessageRelayed(message=message):
                self.sent.discard(message)
                self.waiting.pop(message, None)
            case _:
                pass


_TELL_THEMSELVES = ("/approve", "/deny", "/steer", "/stop")  # by what they bring about


@dataclass
class Once:
    """Show each reply once, whether it comes by its event, by delivery, or as an answer's text."""

    names: dict[str, None] = field(default_factory=dict)

    def mark(self, name: str) -> None:
        self.names[name] = None
        while len(self.names) > REPLIES_KEPT:
            del self.names[next(iter(self.names))]

    def show(self, reply: Reply) -> Iterator[TranscriptItem]:
        text = visible_lines(reply.text).strip("\n")
        if reply.id in self.names:
            return
        known = text.strip() in self.names and reply.kind == "answer"
        self.mark(reply.id)
        if text.strip() and not known:
            yield Prose(text) if reply.kind == "answer" else HermesText(text)


def person_text(inbound: Inbound) -> PersonText:
    """Return a message for display, with the names of its files."""
    files = [f"[{media.name or media.media_type}]" for media in inbound.media]
    text = " ".join([visible_lines(inbound.text), *files]).strip()
    note = "" if inbound.sender.id == "owner" else inbound.sender.name or inbound.sender.id
    return PersonText(
        text, visible_lines(note or ("" if inbound.origin == "person" else inbound.origin))
    )
