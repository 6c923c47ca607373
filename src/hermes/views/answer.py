"""Find the answer to one message by folding the events after it."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import TurnId
from hermes.core.messages import Reply, Usage, together
from hermes.core.session import ref

AnswerState = Literal[
    "waiting", "running", "asking", "answered", "failed", "stopped", "parked", "done"
]
FINAL = frozenset({"answered", "failed", "stopped", "parked", "done"})


class MessageAnswer(Struct, frozen=True, kw_only=True):
    """The answer so far. State `done` means a command ran, which has no turn. `becomes` names the
    message that a command sent in place of this one; its answer counts."""

    state: AnswerState = "waiting"
    turn: TurnId | None = None
    replies: tuple[Reply, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    becomes: str = ""

    @property
    def text(self) -> str:
        return "\n\n".join(reply.text for reply in self.replies)


NOTHING_YET = MessageAnswer()


def answer_of(
    events: Iterable[e.Event], message: str, so_far: MessageAnswer = NOTHING_YET
) -> MessageAnswer:
    """Fold the events after a message, or continue from `so_far`."""
    answer = so_far
    for event in events:
        answer = _after(answer, event, message)
    return answer


def _after(answer: MessageAnswer, event: e.Event, message: str) -> MessageAnswer:
    match event:
        case e.MessageReceived(inbound=said) if ref(said).startswith(f"{message}/"):
            return replace(answer, becomes=ref(said))
        case e.CommandRun(message=run, replies=replies) if run == message:
            goes_on = answer.turn is not None or (answer.becomes and not replies)
            state: AnswerState = answer.state if goes_on else "done"
            return replace(answer, state=state, replies=(*answer.replies, *replies))
        case (
            e.TurnStarted(turn=turn, messages=taken) | e.TurnResumed(turn=turn, messages=taken)
        ) if message in taken or (answer.becomes and answer.becomes in taken):
            return replace(answer, state="running", turn=turn)
        case (
            e.TurnSteered(turn=turn, message=taken) | e.QuestionAnswered(turn=turn, message=taken)
        ) if taken == message:
            return replace(answer, state="running", turn=turn)
        case e.SessionSuspended(replies=replies) if answer.state in ("running", "asking"):
            return replace(answer, state="parked", replies=replies)
        case (
            e.TurnResumed()
            | e.ModelAnswered()
            | e.QuestionAsked()
            | e.QuestionAnswered()
            | e.TurnEnded()
            | e.TurnInterrupted()
        ) if event.turn == answer.turn:
            return _in_turn(answer, event)
        case _:
            return answer


def _in_turn(answer: MessageAnswer, event: e.Event) -> MessageAnswer:
    match event:
        case e.ModelAnswered(usage=more, model=model):
            return replace(
                answer,
                usage=more if answer.usage == Usage() else together([answer.usage, more]),
                model=model,
            )
        case e.QuestionAsked(question=question):
            return replace(answer, state="asking", replies=(question,))
        case e.TurnEnded(outcome=outcome, replies=replies):
            return replace(answer, state=outcome, replies=replies)
        case e.TurnInterrupted():
            return replace(answer, state="stopped", replies=())
        case _:
            return replace(answer, state="running", replies=())
