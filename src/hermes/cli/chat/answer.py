"""Find the turn and the replies of a message, and describe the outcome for scripts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict, replace

from hermes.cli.chat.open_question import OpenQuestion
from hermes.cli.turns.rows import turn_events
from hermes.core.events import (
    CommandRun,
    Event,
    QuestionAnswered,
    QuestionAsked,
    TurnMarked,
    TurnResumed,
)
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow, replies_of
from hermes.core.session import ref
from hermes.core.store import Store
from hermes.views.answer import FINAL, NOTHING_YET, answer_of
from hermes.views.turn_story import StepRow, story, total


class ReplyTracker:
    """The state of one message, folded from the events behind it.

    The replies come from the journal: with two chats in one session, one process may work and send
    for both, and each chat shows its own.
    """

    def __init__(self, inbound: Inbound) -> None:
        self.message = ref(inbound)
        self.replies: list[Reply] = []  # to this message, whichever process sends them
        self.marked = False  # its turn was interrupted and has not been taken up again
        self._answer = NOTHING_YET
        self._last: Event | None = None
        self._question = ""  # the last one that was asked

    @property
    def turn(self) -> TurnId | None:
        """Return the turn that took the message: started by it, joined by it, or started by a
        command."""
        return self._answer.turn

    @property
    def over(self) -> bool:
        """Return True if nothing more happens without a person."""
        return self.finished or self._answer.state == "asking"

    @property
    def finished(self) -> bool:
        """Return True if the message is completely handled."""
        return self._answer.state in FINAL

    @property
    def taken(self) -> bool:
        """Return True if a turn or a command has taken the message from the inbox."""
        return self._answer.state != "waiting"

    def go_on(self, question: str) -> None:
        """Note that the question was answered; its effects follow as events."""
        if self._answer.state == "asking" and self._question == question:
            self._answer = replace(self._answer, state="running")

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._answer = answer_of((event,), self.message, self._answer)
            match event, self._last:
                case CommandRun(message=run), (QuestionAnswered() | TurnResumed()) as moved:
                    if run == self.message and self.turn is None:
                        self._answer = replace(self._answer, state="running", turn=moved.turn)
                case _:
                    pass
            if isinstance(event, QuestionAsked):
                self._question = event.id
            if isinstance(event, TurnMarked | TurnResumed) and event.turn == self.turn:
                self.marked = isinstance(event, TurnMarked)
            about = (r for r in replies_of(event) if is_about(r, self.message, self.turn))
            self.replies += about
            self._last = event


@dataclass(frozen=True, kw_only=True)
class MessageOutcome:
    """The outcome of one message. A command has no turn, unless it started one."""

    key: SessionKey
    session_id: SessionId
    turn: TurnRow | None
    steps: tuple[StepRow, ...]
    replies: tuple[Reply, ...]
    question: OpenQuestion | None = None  # it waits for the answer to this one

    @property
    def state(self) -> str:
        """Return the state. `waiting`: no turn has taken the message, because an earlier one asks a
        question."""
        if self.turn is not None:
            return self.turn.state
        return "done" if self.question is None else "waiting"

    def document(self, others: Sequence[Reply]) -> Mapping[str, object]:
        models = [step.name for step in self.steps if step.kind == "model"]
        return {
            "session": self.key,
            "session_id": self.session_id,
            "turn": self.turn.id if self.turn is not None else None,
            "text": "\n\n".join(reply.text for reply in self.replies),
            "state": self.state,
            "steps": len(self.steps),
            "usage": asdict(total(self.steps)),
            "model": models[-1] if models else None,
            "notices": [reply.text for reply in others],
            "question": self.question.document() if self.question is not None else None,
        }


async def answered(
    store: Store, key: SessionKey, tracker: ReplyTracker, question: OpenQuestion | None
) -> MessageOutcome:
    """Read the rest of the outcome from the store."""
    turn = await store.library.turn(tracker.turn) if tracker.turn is not None else None
    steps = story(await turn_events(store, turn)) if turn is not None else ()
    session = await store.library.find(key)
    return MessageOutcome(
        key=key,
        session_id=session.id if session is not None else SessionId(""),
        turn=turn,
        steps=steps,
        replies=tuple(tracker.replies),
        question=question,
    )


def is_about(reply: Reply, message: str, turn: TurnId | None) -> bool:
    """Return True if the reply belongs to this message, or to the turn that took it."""
    starts = (f"{turn}/", f"{turn}-") if turn is not None else ()
    return reply.id.startswith((f"{message}/", *starts))
