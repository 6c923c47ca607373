"""Redact events and live updates before they leave a worker.

An event is redacted before any decision uses it, so that the stored, shown, sent and executed texts
are the same. Provider data that must go back unchanged (`opaque`) is kept as it is.
"""

from collections.abc import Callable

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.messages import Inbound, Reply
from hermes.core.signals import CallProgress, Glimpse, Retrying, TextDelta, ThoughtDelta, Watch
from hermes.secrets.live import Sink
from hermes.secrets.redactor import Stream

Safe = Callable[[str], str]
STREAMS_MAX = 64  # calls whose output is tracked at a time


def cleaned(event: e.Event, safe: Safe) -> e.Event:
    """Return the event with all its texts redacted."""
    match event:
        case e.ModelAnswered():
            return replace(
                event,
                text=safe(event.text),
                calls=tuple(
                    replace(call, arguments=safe(call.arguments), fault=safe(call.fault))
                    for call in event.calls
                ),
                thoughts=tuple(replace(each, text=safe(each.text)) for each in event.thoughts),
            )
        case e.CallEnded():
            facts = {name: safe(value) for name, value in event.facts.items()}
            return replace(
                event,
                text=safe(event.text),
                facts=facts,
                source=safe(event.source),
                diff=safe(event.diff),
                remark=safe(event.remark),
            )
        case e.QuestionAsked():
            return replace(event, question=_reply(event.question, safe), card=safe(event.card))
        case e.QuestionAnswered() | e.TurnSteered() | e.DraftBegun():
            return replace(event, text=safe(event.text))
        case e.FactSet():
            return replace(event, value=safe(event.value))
        case e.MessageReceived():
            return replace(event, inbound=clean_inbound(event.inbound, safe))
        case _:
            return _with_replies(event, safe)


def clean_inbound(inbound: Inbound, safe: Safe) -> Inbound:
    """Redact an inbound message: a person may send a secret that is known here."""
    before = tuple(replace(line, text=safe(line.text)) for line in inbound.before)
    instructions = safe(inbound.instructions)
    return replace(inbound, text=safe(inbound.text), before=before, instructions=instructions)


def _with_replies(event: e.Event, safe: Safe) -> e.Event:
    match event:
        case e.MessageRelayed():
            replies = _replies(event.replies, safe)
            return replace(event, text=safe(event.text), replies=replies)
        case e.GoalSet():
            goal = replace(event.goal, text=safe(event.goal.text)) if event.goal else None
            return replace(event, goal=goal, replies=_replies(event.replies, safe))
        case e.GoalJudged():
            return replace(event, why=safe(event.why))
        case e.SessionSuspended() | e.SessionReset() | e.CompactionFailed() | e.GoalPaused():
            return replace(event, why=safe(event.why), replies=_replies(event.replies, safe))
        case e.Compacted():
            view = replace(event.view, summary=safe(event.view.summary))
            return replace(event, view=view, replies=_replies(event.replies, safe))
        case e.TurnEnded():
            return replace(event, why=safe(event.why), replies=_replies(event.replies, safe))
        case e.CommandRun() | e.TurnMarked() | e.PersonTold():
            return replace(event, replies=_replies(event.replies, safe))
        case _:
            return event


def _replies(replies: tuple[Reply, ...], safe: Safe) -> tuple[Reply, ...]:
    return tuple(_reply(reply, safe) for reply in replies)


def _reply(reply: Reply, safe: Safe) -> Reply:
    """Redact a reply. A button's value is ours and comes back when pressed, so it is kept."""
    buttons = tuple((safe(label), says) for label, says in reply.buttons)
    return replace(reply, text=safe(reply.text), buttons=buttons)


def veiled(watch: Watch, sink: Sink) -> Watch:
    """Return a watch that receives redacted text. The last characters may be missing; the event has
    them."""
    streams: dict[object, Stream] = {}

    def stream(key: object) -> Stream:
        if key not in streams and len(streams) >= STREAMS_MAX:
            streams.clear()
        return streams.setdefault(key, sink.stream())

    def through(glimpse: Glimpse) -> None:
        match glimpse:
            case TextDelta(text=text) | ThoughtDelta(text=text):
                if shown := stream(type(glimpse)).feed(text):
                    watch(type(glimpse)(shown))
            case CallProgress(text=text, replaces=True):
                watch(replace(glimpse, text=sink(text)))
            case CallProgress(call=call, text=text):
                if shown := stream(call).feed(text):
                    watch(CallProgress(call, shown))
            case Retrying(why=why, delay_s=delay_s):
                streams.clear()
                watch(Retrying(sink(why), delay_s))
            case _:
                watch(glimpse)

    return through
