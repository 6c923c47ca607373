"""Which turn took a message, which replies answer it, and what a script is told about that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict, replace

from hermes.cli.turns import turn_events
from hermes.core.events import CommandRun, Event, QuestionAnswered, TurnMarked, TurnResumed
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow, replies_of
from hermes.core.session import ref
from hermes.core.store import Store
from hermes.views.answer import FINAL, NOTHING_YET, answer_of
from hermes.views.turn_story import StepRow, story, total


class Tale:
    """What has become of one message, told by the events behind it as they come.

    The replies come from the journal: with two chats in one lane, one process may work and send
    for both, and each shows its own.
    """

    def __init__(self, inbound: Inbound) -> None:
        self.message = ref(inbound)
        self.replies: list[Reply] = []  # to this message, whichever process sends them
        self.marked = False  # its turn was interrupted and has not been taken up again
        self._answer = NOTHING_YET
        self._last: Event | None = None

    @property
    def turn(self) -> TurnId | None:
        """The turn that took the message in, begun or joined by it, or set going by a command."""
        return self._answer.turn

    @property
    def over(self) -> bool:
        """Nothing more comes of it by itself."""
        return self._answer.state in FINAL or self._answer.state == "asking"

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._answer = answer_of((event,), self.message, self._answer)
            match event, self._last:
                case CommandRun(message=run), (QuestionAnswered() | TurnResumed()) as moved:
                    if run == self.message and self.turn is None:
                        self._answer = replace(self._answer, state="running", turn=moved.turn)
                case _:
                    pass
            if isinstance(event, TurnMarked | TurnResumed) and event.turn == self.turn:
                self.marked = isinstance(event, TurnMarked)
            about = (r for r in replies_of(event) if is_about(r, self.message, self.turn))
            self.replies += about
            self._last = event


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What became of one message. A command has no turn, unless it set one going."""

    key: SessionKey
    session_id: SessionId
    turn: TurnRow | None
    steps: tuple[StepRow, ...]
    replies: tuple[Reply, ...]

    @property
    def state(self) -> str:
        return self.turn.state if self.turn is not None else "done"

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
        }


async def answered(store: Store, key: SessionKey, tale: Tale) -> Answered:
    """The rest of it, read from the store."""
    turn = await store.library.turn(tale.turn) if tale.turn is not None else None
    steps = story(await turn_events(store, turn)) if turn is not None else ()
    session = await store.library.find(key)
    return Answered(
        key=key,
        session_id=session.id if session is not None else SessionId(""),
        turn=turn,
        steps=steps,
        replies=tuple(tale.replies),
    )


def is_about(reply: Reply, message: str, turn: TurnId | None) -> bool:
    """Does the reply belong to this message, or to the turn that took it in?"""
    starts = (f"{turn}/", f"{turn}-") if turn is not None else ()
    return reply.id.startswith((f"{message}/", *starts))
