"""What the model reads: rows from events, and a valid request from rows.

Notes are made here, when a request is built, and are stored nowhere: they cannot get into a
summary, a search result or an export (C30).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.announced import NUDGE
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Inbound, Line, Outcome
from hermes.core.session import Session, Turn, ref

NO_RESULT = "No result: the turn was stopped before this call ended. Check before you repeat it."
SAID_NO = "The person said no. Do not try to reach the same by another way; ask what they want."
LOST = (
    "Outcome unknown: Hermes was interrupted while this ran, and it was not run again. "
    "Look at what it did before you retry it; if a retry could do harm, ask the person first."
)

APPROVED = "approved"  # label of the result of a call that a person said yes to
RELAYED = "relayed"  # label of a line that another conversation sent into this chat
_RELAYED = "[Sent into this chat by you, from another conversation:]\n"

BARE_CHARS = 600

_WHY = {
    "restart_timeout": "a gateway restart",
    "shutdown_timeout": "a gateway shutdown",
    "restart_interrupted": "a gateway interruption",
}
_NEW_MESSAGE = (
    "The person has written since: answer that message first, and use the results that are "
    "already here instead of repeating their calls."
)
_GO_ON = (
    "Continue the task where it stopped. Use the results that are already here, repeat no call "
    "that has one, and do not answer with a mere greeting."
)
_UNREAD = (
    "[Note by Hermes, not by the person: the turn before was stopped after the results above had "
    "come in and before you had read them. Take them into account.]"
)


def line_count(session: Session, event: e.Event) -> int:
    """How many transcript rows the event adds (`rows` makes them)."""
    match event:
        case e.TurnStarted(messages=messages) | e.TurnResumed(messages=messages):
            taken = [inbound for inbound in session.waiting if ref(inbound) in messages]
            return sum(1 + len(inbound.before) for inbound in taken)
        case e.ModelAnswered() | e.CallEnded() | e.TurnSteered() | e.MessageRelayed():
            return 1
        case e.QuestionAnswered(granted=granted, text=text):
            return int(bool(text) or not granted)
        case _:
            return 0


def rows(session: Session, event: e.Event) -> tuple[Line, ...]:
    """The transcript rows that an event adds to the session it is about to be folded into."""
    match event:
        case (
            e.TurnStarted(turn=turn, messages=messages)
            | e.TurnResumed(turn=turn, messages=messages)
        ):
            taken = [inbound for inbound in session.waiting if ref(inbound) in messages]
            return tuple(line for inbound in taken for line in _said(inbound, turn))
        case e.TurnSteered(turn=turn, message=message, text=text, at=at):
            labels = _labels(session, message)
            return (Line(role="user", text=text, turn=turn, at=at, labels=labels),)
        case e.MessageRelayed(message=message, text=text, at=at):
            labels = (RELAYED, *_labels(session, message))
            return (Line(role="assistant", text=text, at=at, labels=labels),)
        case e.ModelAnswered():
            return (_assistant(session, event),)
        case e.CallEnded(turn=turn, call=call, outcome=outcome, at=at, labels=labels):
            text = "\n".join(part for part in (event.text, event.remark) if part)
            call_states = session.turn.call_states if session.turn is not None else ()
            if any(
                call_state.approved and call_state.call.id == call for call_state in call_states
            ):
                labels = (*labels, APPROVED)
            return (
                Line(
                    role="tool",
                    text=text,
                    turn=turn,
                    at=at,
                    call=call,
                    outcome=outcome,
                    labels=labels,
                ),
            )
        case e.QuestionAnswered(turn=turn, call=call, granted=granted, text=text, at=at):
            if granted and not text:
                return ()
            outcome = Outcome.OK if granted else Outcome.DENIED
            if not granted and not event.by and _wants_text(session, call):
                outcome = Outcome.FAILED  # nobody answered what was no request for leave
            said = text or SAID_NO
            return (Line(role="tool", text=said, turn=turn, at=at, call=call, outcome=outcome),)
        case _:
            return ()


def _wants_text(session: Session, call: CallId) -> bool:
    return any(asked.wants_text and asked.call.id == call for asked in session.questions)


def spoken(line: Line) -> str:
    """The text of a line with its note, behind a result or in front of a message."""
    if not line.note:
        return line.text
    texts = (line.text, line.note) if line.role == "tool" else (line.note, line.text)
    return "\n\n".join(text for text in texts if text)


def recovery_note(turn: Turn) -> str:
    """The one note of a resumed turn (C31, C32); empty for a first run."""
    if turn.resumed is None:
        return ""
    task = _NEW_MESSAGE if turn.joined else _GO_ON
    why = _WHY[turn.resumed.reason]
    return f"[Note by Hermes, not by the person: this turn was cut off by {why}. {task}]"


def _note(session: Session, valid: Sequence[Line]) -> str:
    """The bigger note replaces the smaller one (C33), which is only about results that are read."""
    turn = session.turn
    if turn is not None and turn.resumed is not None:
        return recovery_note(turn)
    if turn is not None and turn.announced and valid and valid[-1].role == "assistant":
        return NUDGE
    if not session.unread:
        return ""
    return _UNREAD if any(line.call in session.unread for line in valid if line.call) else ""


def _said(inbound: Inbound, turn: TurnId) -> tuple[Line, ...]:
    """What the sender carried of the conversation, then the message itself."""
    said = Line(
        role="user",
        text=inbound.text,
        turn=turn,
        at=inbound.at,
        sender=inbound.sender.id,
        media=inbound.media,
        labels=inbound.labels,
    )
    return (*inbound.before, said)


def _labels(session: Session, message: str) -> tuple[str, ...]:
    """Of a message that waits."""
    return next((i.labels for i in session.waiting if ref(i) == message), ())


def _assistant(session: Session, event: e.ModelAnswered) -> Line:
    """What a model says is made of all that it has read: its words are no better than that."""
    return Line(
        role="assistant",
        text=event.text,
        turn=event.turn,
        at=event.at,
        calls=event.calls,
        thoughts=event.thoughts,
        model=event.model,
        labels=session.view.labels,
    )


def bared(line: Line) -> Line:
    """A tool's result without most of it; other lines as they are."""
    if line.role != "tool" or len(line.text) <= BARE_CHARS:
        return line
    head, tail = line.text[: BARE_CHARS // 2], line.text[-BARE_CHARS // 4 :]
    left_out = len(line.text) - len(head) - len(tail)
    text = f"{head}\n[Hermes left {left_out:,} characters of this old result out.]\n{tail}"
    return replace(line, text=text)


class Reading:
    """One view as the strictest provider takes it (C25), with at most one note (C30); kept while it
    grows: a long conversation is read for every step, and only what is new needs a look.

    It begins with a user line. Each answer has its results right behind it, then whatever else came
    meanwhile; no line is blank, and speakers that follow themselves are joined.
    """

    def __init__(self, view: e.View) -> None:
        self._bare = view.bare
        self._count = 0  # lines that were looked at
        self._out: list[Line] = []
        self._held: list[Line] = []
        self._open: dict[CallId, Line | None] = {}
        if view.summary.strip():
            self._out.append(Line(role="user", text=view.summary, labels=view.labels))

    def request(self, session: Session, lines: Sequence[Line]) -> tuple[Line, ...]:
        """`lines` are all of the view; those of the last time stand at their beginning."""
        for line in lines[self._count :]:
            self._take(bared(line) if self._count < self._bare else line)
            self._count += 1
        valid = self._finished()
        note = _note(session, valid)
        return _with_note(valid, note) if note else valid

    def _take(self, line: Line) -> None:
        if RELAYED in line.labels:
            self._wait(Line(role="user", text=_RELAYED + line.text, labels=line.labels))
        elif line.role == "assistant":
            self._release()
            if (line.calls or line.text.strip()) and self._put(line):
                self._open = {call.id: None for call in line.calls}
        elif line.role == "tool":
            if line.call in self._open and self._open[line.call] is None:
                self._open[line.call] = line
        elif line.media or line.text.strip():
            self._wait(line)

    def _finished(self) -> tuple[Line, ...]:
        """As if nothing followed; what does follow changes only the end."""
        if not self._open:
            return tuple(self._out)
        out, open_, held = self._out[:], self._open, self._held
        self._release()
        finished = tuple(self._out)
        self._out, self._open, self._held = out, open_, held
        return finished

    def _wait(self, line: Line) -> None:
        if self._open:
            self._held.append(line)
        else:
            self._put(line)

    def _release(self) -> None:
        for call, result in self._open.items():
            none = Line(role="tool", text=NO_RESULT, call=call, outcome=Outcome.STOPPED)
            self._put(result or none)
        for line in self._held:
            self._put(line)
        if self._open:
            self._open, self._held = {}, []

    def _put(self, line: Line) -> bool:
        if not self._out:
            if line.role != "user":  # a view may begin in the middle of a turn; a request may not
                return False
            self._out.append(line)
        elif line.role == self._out[-1].role != "tool":
            self._out[-1] = _joined(self._out[-1], line)
        else:
            self._out.append(line)
        return True


def _joined(first: Line, second: Line) -> Line:
    text = "\n\n".join(text for text in (first.text, second.text) if text.strip())
    return replace(
        second,
        text=text,
        media=(*first.media, *second.media),
        labels=tuple(dict.fromkeys((*first.labels, *second.labels))),
    )


def _with_note(lines: tuple[Line, ...], note: str) -> tuple[Line, ...]:
    """On the last line: a message of its own would be refused after a tool's result by some."""
    if not lines or lines[-1].role == "assistant":
        return (*lines, Line(role="user", note=note))
    return (*lines[:-1], replace(lines[-1], note=note))
