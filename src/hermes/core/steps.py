"""What can be done next, as values. `step.next_step` decides which of them it is.

Those that only record something are taken together by the planner; the others are performed.
"""

from msgspec import Struct

from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Call, Inbound


class Rest(Struct, frozen=True):
    """Nothing to do until another event arrives."""


class Postpone(Struct, frozen=True):
    """There is something to do, but not now; the session stays ready for it. With `give_up` it is
    not for this process: another one may claim it at once."""

    give_up: bool = False


class Wait(Struct, frozen=True):
    """Calls are in flight in this process; ask again when one ends."""


class Drop(Struct, frozen=True):
    """The sender was removed after the message was accepted."""

    inbound: Inbound


class Expel(Struct, frozen=True):
    """The turn's person was removed while it ran."""

    turn: TurnId


class RunCommand(Struct, frozen=True):
    name: str
    inbound: Inbound


class Relay(Struct, frozen=True):
    """Another conversation has something to say in this chat."""

    inbound: Inbound


class TellQueued(Struct, frozen=True):
    """A message has to wait, and its sender should know."""

    inbound: Inbound
    draining: bool


class Reopen(Struct, frozen=True):
    """The session was suspended and a message came: it gets another conversation."""

    why: str


class StartTurn(Struct, frozen=True):
    messages: tuple[str, ...]


class Interrupt(Struct, frozen=True):
    """A message came in a mode that stops the running turn for it."""

    turn: TurnId


class Steer(Struct, frozen=True):
    """A message came in a mode that puts it behind the next result."""

    turn: TurnId
    inbound: Inbound


class MarkTurn(Struct, frozen=True):
    turn: TurnId


class ResumeTurn(Struct, frozen=True):
    turn: TurnId
    messages: tuple[str, ...]


class Suspend(Struct, frozen=True):
    turn: TurnId
    why: str


class AskModel(Struct, frozen=True):
    turn: TurnId
    ordinal: int


class Prepare(Struct, frozen=True):
    """The conversation has no system prompt yet."""

    turn: TurnId


class Compact(Struct, frozen=True):
    """Sum the conversation up, within a turn or for a person who asked. It is the one that a
    model reads since position `of`."""

    turn: TurnId | None
    of: int


class AskPerson(Struct, frozen=True):
    turn: TurnId
    call: Call
    why: str


class LetExpire(Struct, frozen=True):
    """No answer came in time, which is a no; or no result, which is a failure."""

    turn: TurnId
    call: CallId


class TakeAnswer(Struct, frozen=True):
    """A person's message is the answer that a call waits for."""

    turn: TurnId
    call: CallId
    inbound: Inbound


class TakeResult(Struct, frozen=True):
    """Messages end a deferred call: one, or each of its parts in their order."""

    turn: TurnId
    call: Call
    inbounds: tuple[Inbound, ...]


class StopTurn(Struct, frozen=True):
    """Whoever began this work does not want it any more."""

    turn: TurnId


class GiveCalls(Struct, frozen=True):
    """The turn begins with calls that came with its message."""

    turn: TurnId
    calls: tuple[Call, ...]


class RefuseCall(Struct, frozen=True):
    """The call cannot or may not be made; it ends with that sentence."""

    turn: TurnId
    call: Call
    why: str
    denied: bool


class RunCalls(Struct, frozen=True):
    """Start these together: reads in parallel, or one call with an effect."""

    turn: TurnId
    calls: tuple[Call, ...]


class RecoverCall(Struct, frozen=True):
    """A call with an effect was lost in a crash; its tool can look for the outcome."""

    turn: TurnId
    call: Call


class SettleCall(Struct, frozen=True):
    """A call with an effect was lost in a crash and must not run twice: report it as unknown."""

    turn: TurnId
    call: Call


class JudgeGoal(Struct, frozen=True):
    """A turn for the goal has ended: is it reached?"""

    turns: int
    errors: int  # of the judge, in a row


class ContinueGoal(Struct, frozen=True):
    """Begin the next turn for the goal."""


class PauseGoal(Struct, frozen=True):
    """No turn begins for it until a person says so."""

    why: str


class EndGoal(Struct, frozen=True):
    """The goal is reached."""

    why: str


class Finish(Struct, frozen=True):
    """`failed`: the text says why a job's run came to nothing."""

    turn: TurnId
    text: str
    failed: bool = False


Step = (
    Rest
    | Postpone
    | Wait
    | Drop
    | Expel
    | RunCommand
    | Relay
    | TellQueued
    | Reopen
    | StartTurn
    | Interrupt
    | Steer
    | MarkTurn
    | ResumeTurn
    | Suspend
    | Prepare
    | Compact
    | AskModel
    | AskPerson
    | LetExpire
    | TakeAnswer
    | TakeResult
    | StopTurn
    | GiveCalls
    | RefuseCall
    | RunCalls
    | RecoverCall
    | SettleCall
    | JudgeGoal
    | ContinueGoal
    | PauseGoal
    | EndGoal
    | Finish
)
