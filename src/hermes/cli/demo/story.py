"""The story of `hermes demo crash` as values: what happened, and which promises held. Pure."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from hermes.core import events as e

PAGES = 8
KILL_AT, BACK_AT = 3, 5  # pages: when the gateway dies, and when the next one is started
LOG = "pages.log"
QUESTION = "Print the eight pages, please."
CALLING = "I print them; that takes a while."
ANSWER = "All eight pages are printed."
COMMAND = (
    f'for page in $(seq {PAGES}); do echo "page $page of {PAGES}" | tee -a {LOG}; sleep 0.5; done'
)
THINKS_S = 0.35

Lane = Literal["person", "gateway", "model", "command", "journal"]
LANES: tuple[Lane, ...] = ("person", "gateway", "model", "command", "journal")


class Beat(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened, and what the journal contained by then because of it."""

    at: float
    lane: Lane
    text: str
    stored: str = ""
    reused: str = ""
    fatal: bool = False


class DemoSpan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    lane: Lane
    start: float
    end: float
    cut: bool = False  # it did not end by itself


class DemoFinding(Struct, frozen=True, kw_only=True):
    """One promise, and whether it was kept."""

    what: str
    how: str
    holds: bool


class DemoObservations(Struct, frozen=True, kw_only=True):
    """What was observed from outside. Times are wall-clock times."""

    began: float
    up: tuple[tuple[float, float, float], ...]  # of each gateway: started, ready, gone
    pages: tuple[tuple[str, float], ...]  # each line of the command's file, and when it was there
    events: tuple[e.Event, ...]
    printed: str  # on the person's terminal

    @property
    def killed(self) -> float:
        return self.up[0][2]


class Story(Struct, frozen=True, kw_only=True):
    """The story in seconds from its beginning."""

    seconds: float
    killed: float
    back: float
    beats: tuple[Beat, ...]
    spans: tuple[DemoSpan, ...]
    pages: tuple[float, ...]
    commits: tuple[float, ...]
    findings: tuple[DemoFinding, ...]

    @property
    def holds(self) -> bool:
        return all(finding.holds for finding in self.findings)


def script() -> list[dict[str, object]]:
    """Return the model's script: it calls the command, and accepts the result."""
    call = {"tool": "terminal", "arguments": {"command": COMMAND}}
    first = {"text": CALLING, "calls": [call], "delay_s": THINKS_S}
    return [{"match": "", "steps": [first, {"text": ANSWER, "delay_s": THINKS_S}]}]


def beat_of(event: e.Event, *, again: bool) -> Beat | None:
    """Return the beat for an event, if it has one; `again`: the first gateway is dead."""
    match event:
        case e.MessageReceived(inbound=said):
            return Beat(at=said.at, lane="person", text=f"“{said.text}”", stored="message")
        case e.ModelAnswered(calls=(_, *_), text=text):
            told = f"“{text}” and calls terminal"
            return Beat(at=event.at, lane="model", text=told, stored="answer and call")
        case e.ModelAnswered(text=text):
            return Beat(at=event.at, lane="model", text=f"“{text}”", stored="answer")
        case e.CallStarted() if again:
            return Beat(
                at=event.at, lane="command", text="is found again, by its id", reused="command"
            )
        case e.CallStarted():
            told = "begins, in a process group of its own"
            return Beat(at=event.at, lane="command", text=told, stored="intent, before it begins")
        case e.TurnResumed():
            told = "resumes the turn where it was"
            return Beat(at=event.at, lane="gateway", text=told, reused="message, answer, call")
        case e.CallEnded():
            told = "has ended: its output and status were kept"
            return Beat(at=event.at, lane="command", text=told, stored="result")
        case e.TurnEnded():
            told = "ends the turn"
            return Beat(at=event.at, lane="gateway", text=told, stored="end and reply, one commit")
        case _:
            return None


def started(at: float, pid: int, *, again: bool) -> Beat:
    return Beat(at=at, lane="gateway", text=f"{'a new one ' if again else ''}starts (pid {pid})")


def ready(at: float) -> Beat:
    return Beat(at=at, lane="gateway", text="is ready")


def killed(at: float, pid: int, pages: int) -> Beat:
    told = f"SIGKILL: pid {pid} is dead, page {pages} of {PAGES} was just printed"
    return Beat(at=at, lane="gateway", text=told, fatal=True)


def goes_on(at: float, pages: int) -> Beat:
    told = f"keeps running without a gateway: page {pages} of {PAGES}"
    return Beat(at=at, lane="command", text=told)


def answered(at: float) -> Beat:
    return Beat(at=at, lane="person", text="has the answer")


def story_of(seen: DemoObservations, beats: Sequence[Beat]) -> Story:
    end = max(gone for _, _, gone in seen.up)
    since = seen.began
    return Story(
        seconds=end - since,
        killed=seen.killed - since,
        back=seen.up[1][0] - since,
        beats=tuple(_shift(beat, since) for beat in sorted(beats, key=lambda each: each.at)),
        spans=tuple(
            DemoSpan(lane=span.lane, start=span.start - since, end=span.end - since, cut=span.cut)
            for span in _spans(seen, beats)
        ),
        pages=tuple(at - since for _, at in seen.pages),
        commits=tuple(sorted({_at(event) - since for event in seen.events})),
        findings=tuple(_findings(seen)),
    )


def _shift(beat: Beat, since: float) -> Beat:
    return Beat(
        at=max(beat.at - since, 0.0),
        lane=beat.lane,
        text=beat.text,
        stored=beat.stored,
        reused=beat.reused,
        fatal=beat.fatal,
    )


def _spans(seen: DemoObservations, beats: Sequence[Beat]) -> Iterator[DemoSpan]:
    for number, (start, _, gone) in enumerate(seen.up):
        yield DemoSpan(lane="gateway", start=start, end=gone, cut=number == 0)
    since = began = 0.0
    for event in seen.events:
        match event:
            case e.MessageReceived(inbound=said):
                asked = said.at
            case e.TurnStarted(at=at):
                since = at
            case e.ModelAnswered(at=at):
                yield DemoSpan(lane="model", start=since, end=at)
            case e.CallStarted(at=at):
                began = began or at
            case e.CallEnded(at=at):
                yield DemoSpan(lane="command", start=began, end=at)
                since = at
            case e.TurnEnded(at=at):
                has_it = max((beat.at for beat in beats if beat.lane == "person"), default=at)
                yield DemoSpan(lane="person", start=asked, end=max(has_it, at))
            case _:
                pass


def _findings(seen: DemoObservations) -> Iterator[DemoFinding]:
    def before(kind: type) -> int:
        return sum(isinstance(event, kind) and _at(event) < seen.killed for event in seen.events)

    def count(kind: type) -> int:
        return sum(isinstance(event, kind) for event in seen.events)

    yield DemoFinding(
        what="the message",
        how="stored before the crash; you did not have to send it again",
        holds=before(e.MessageReceived) == count(e.MessageReceived) == 1,
    )
    yield DemoFinding(
        what="the model",
        how="its answer from before the crash was reused: asked 2 times, not 3",
        holds=(before(e.ModelAnswered), count(e.ModelAnswered)) == (1, 2),
    )
    lines = [line for line, _ in seen.pages]
    yield DemoFinding(
        what="the command",
        how=f"outlived the gateway and ran once: {PAGES} pages, none of them twice",
        holds=lines == [f"page {n} of {PAGES}" for n in range(1, PAGES + 1)],
    )
    yield DemoFinding(
        what="the turn",
        how="one turn in two runs, resumed automatically",
        holds=(count(e.TurnStarted), count(e.TurnResumed), count(e.TurnEnded)) == (1, 1, 1),
    )
    yield DemoFinding(
        what="the answer",
        how="reached the person, once",
        holds=seen.printed.count(ANSWER) == 1,
    )


def _at(event: e.Event) -> float:
    return event.inbound.at if isinstance(event, e.MessageReceived) else event.at
