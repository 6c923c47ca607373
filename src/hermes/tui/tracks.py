"""The calls of a session as they come, the messages that wait, and what has been shown before."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import CallId
from hermes.core.messages import Call, Inbound, Outcome, Reply
from hermes.core.session import ref
from hermes.tui.calls import CALLS_KEPT, CallView, seen, tail
from hermes.tui.shown import Prose, Said, Shown, Told
from hermes.views.honest import straight

REPLIES_KEPT = 500


@dataclass
class Calls:
    """Some of the latest can be unfolded."""

    views: dict[CallId, CallView] = field(default_factory=dict)

    @property
    def running(self) -> Sequence[CallView]:
        return [call for call in self.views.values() if call.running]

    @property
    def finished(self) -> Sequence[CallView]:
        return [call for call in self.views.values() if call.outcome is not None]

    def intend(self, calls: Iterable[Call]) -> None:
        self.views |= {call.id: seen(call) for call in calls}
        over = [call.id for call in self.finished]
        for id_ in over[: max(0, len(self.views) - CALLS_KEPT)]:
            del self.views[id_]

    def start(self, id_: CallId, at: float) -> None:
        """Begun again after a crash, it has been running since it first began."""
        call = self.views.get(id_)
        if call is not None and call.started_at is None:
            self.views[id_] = replace(call, started_at=at)

    def progress(self, id_: CallId, text: str) -> None:
        call = self.views.get(id_)
        if call is not None:
            self.views[id_] = replace(call, output=tail(call.output, text))

    def end(
        self, id_: CallId, outcome: Outcome, text: str, at: float | None = None
    ) -> CallView | None:
        call = self.views.get(id_)
        if call is None:
            return None
        ended = replace(call, outcome=outcome, ended_at=at, output=tail("", text))
        self.views[id_] = ended
        return ended

    def stop(self, at: float) -> Iterator[CallView]:
        """The turn was stopped, and these with it."""
        for call in self.running:
            stopped = replace(call, outcome=Outcome.STOPPED, ended_at=at)
            self.views[call.id] = stopped
            yield stopped


@dataclass
class Queue:
    """Messages that no turn has taken in yet."""

    waiting: dict[str, Inbound] = field(default_factory=dict)

    @property
    def texts(self) -> Sequence[str]:
        return [inbound.text for inbound in self.waiting.values() if inbound.text]

    def take(self, event: e.Event) -> Iterator[Said]:
        """Who speaks by this event."""
        match event:
            case e.MessageReceived(inbound=inbound):
                self.waiting[ref(inbound)] = inbound
            case e.TurnStarted(messages=messages) | e.TurnResumed(messages=messages):
                known = [message for message in messages if message in self.waiting]
                yield from [said(self.waiting.pop(message)) for message in known]
            case e.CommandRun(message=message):
                ordered = self.waiting.pop(message, None)
                if ordered is not None and not ordered.text.startswith(_TELL_THEMSELVES):
                    yield said(ordered)
            case e.TurnSteered(message=message, text=text):
                self.waiting.pop(message, None)
                yield Said(straight(text), "steered")
            case e.MessageDropped(message=message) | e.MessageRelayed(message=message):
                self.waiting.pop(message, None)
            case _:
                pass


_TELL_THEMSELVES = ("/approve", "/deny", "/steer", "/stop")  # by what they bring about


@dataclass
class Once:
    """Each reply is shown once: by its event, by delivery, or as the text of an answer."""

    names: dict[str, None] = field(default_factory=dict)

    def mark(self, name: str) -> None:
        self.names[name] = None
        while len(self.names) > REPLIES_KEPT:
            del self.names[next(iter(self.names))]

    def show(self, reply: Reply) -> Iterator[Shown]:
        text = straight(reply.text).strip()
        if reply.id in self.names:
            return
        known = text in self.names and reply.kind == "answer"
        self.mark(reply.id)
        if text and not known:
            yield Prose(text) if reply.kind == "answer" else Told(text)


def said(inbound: Inbound) -> Said:
    """As its person wrote it, with what came along."""
    files = [f"[{media.name or media.media_type}]" for media in inbound.media]
    text = " ".join([straight(inbound.text), *files]).strip()
    note = "" if inbound.sender.id == "owner" else inbound.sender.name or inbound.sender.id
    return Said(text, straight(note or ("" if inbound.origin == "person" else inbound.origin)))
