"""The closed set of facts a journal may contain. Past tense, immutable, versioned by tag.

To change an event, add a new one and teach `fold` both; never edit a published shape. A field with
a default may be added at the end.
"""

from typing import Literal

from msgspec import Struct

from hermes.core.goal_events import GoalJudged as GoalJudged
from hermes.core.goal_events import GoalPaused as GoalPaused
from hermes.core.goal_events import GoalSet as GoalSet
from hermes.core.grants import Grant
from hermes.core.ids import CallId, SessionId, SessionKey, TurnId
from hermes.core.job_events import JobChange
from hermes.core.messages import (
    Address,
    Call,
    Effect,
    Inbound,
    Outcome,
    Reply,
    Spent,
    Thought,
    Usage,
)

MarkReason = Literal["restart_timeout", "shutdown_timeout", "restart_interrupted"]


class Span(Struct, frozen=True, omit_defaults=True):
    """Rows [start, stop) of one conversation; without `stop` it grows with the conversation."""

    session: SessionId
    start: int = 0
    stop: int | None = None


class View(Struct, frozen=True, omit_defaults=True):
    """What the model reads of the transcript: perhaps a summary, then some spans of rows."""

    spans: tuple[Span, ...] = ()
    summary: str = ""
    bare: int = 0  # so many of the first rows are read without their tools' results
    labels: tuple[str, ...] = ()  # of all that was ever read in it, also of what is summed up


class MessageReceived(Struct, frozen=True, tag="message_received.1"):
    """`opens` is the conversation that begins here if the lane has none yet."""

    inbound: Inbound
    opens: SessionId


class CommandRun(Struct, frozen=True, tag="command_run.1", omit_defaults=True):
    """A message that was a command has been obeyed, or one was only for a person to see; it never
    reaches a model."""

    message: str
    at: float
    replies: tuple[Reply, ...] = ()


class MessageDropped(Struct, frozen=True, tag="message_dropped.1"):
    """A waiting message will not be read: its sender was removed."""

    message: str
    at: float


class TurnStarted(Struct, frozen=True, tag="turn_started.1", omit_defaults=True):
    """The messages are in the transcript now, and this run is charged."""

    turn: TurnId
    messages: tuple[str, ...]
    epoch: int
    at: float
    node: str = ""


class TurnMarked(Struct, frozen=True, tag="turn_marked.1", omit_defaults=True):
    """The open turn is `resume_pending`. The first mark stays: it is the more specific one."""

    turn: TurnId
    reason: MarkReason
    at: float
    replies: tuple[Reply, ...] = ()


class TurnResumed(Struct, frozen=True, tag="turn_resumed.1", omit_defaults=True):
    """Another run of the same turn, charged; new messages of the person may join it."""

    turn: TurnId
    epoch: int
    at: float
    messages: tuple[str, ...] = ()
    node: str = ""


class TurnSteered(Struct, frozen=True, tag="turn_steered.1"):
    """A person's message was put behind the results of the open turn instead of into the queue."""

    turn: TurnId
    message: str
    text: str
    at: float


class ModelAnswered(Struct, frozen=True, tag="model_answered.1", omit_defaults=True):
    turn: TurnId
    at: float
    text: str = ""
    calls: tuple[Call, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    announces: bool = False  # an act, without making the call (see `announced`)
    outcome: Outcome = Outcome.OK  # of the work that it ends: a script may have failed


class QuestionAsked(Struct, frozen=True, tag="question_asked.1", omit_defaults=True):
    """The call waits for a person. Approval, clarification and confirmation are all this.

    `id` is known to those who are asked and to no model; `digest` is of exactly what would run.
    Without an answer until `expires_at` it is a no. `notices` go to others than who is asked.
    `card` is what the owner must see, where `question` does not show it.
    """

    turn: TurnId
    call: CallId
    question: Reply
    at: float
    id: str = ""
    why: str = ""
    digest: str = ""
    expires_at: float = 0.0
    notices: tuple[Reply, ...] = ()
    offer: Grant | None = None  # what "always" would mean
    card: str = ""
    session_offer: Grant | None = None  # what "for this session" would mean
    folder_offer: Grant | None = None  # what "for this folder" would mean
    wants_text: bool = False  # the answer itself is the call's result
    choices: tuple[str, ...] = ()  # of such a question; each is answered by its number, too
    asked: str = ""  # platform:id of the one person who may answer it; empty: the owner


class QuestionAnswered(Struct, frozen=True, tag="question_answered.1", omit_defaults=True):
    """`text` is the call's result where the answer itself is the result, or the reason of a no.
    `by` is platform:id of who decided; nobody did where the time ran out. `grant`: it was a yes to
    all such calls; `session_grant`: to those of this conversation. `message` was the answer."""

    turn: TurnId
    call: CallId
    granted: bool
    epoch: int
    at: float
    text: str = ""
    by: str = ""
    grant: Grant | None = None
    session_grant: Grant | None = None
    message: str = ""


class CallStarted(Struct, frozen=True, tag="call_started.1", omit_defaults=True):
    """Durable before the effect can happen. Started again by a later epoch: run again or sought.
    An approval is used up by it. `box` is the profile of the sandbox, for a call that has one."""

    turn: TurnId
    call: CallId
    effect: Effect
    epoch: int
    at: float
    box: str = ""
    children: tuple[SessionKey, ...] = ()  # sessions that it begins; they end with its turn


class CallDeferred(Struct, frozen=True, tag="call_deferred.1", omit_defaults=True):
    """The call was begun and ends later, by a message that settles it; without one until
    `expires_at` it has failed. `waits_for` says for what, for people. With `parts` it ends when
    so many messages are there."""

    turn: TurnId
    call: CallId
    at: float
    expires_at: float = 0.0
    waits_for: str = ""
    parts: int = 0


class CallEnded(Struct, frozen=True, tag="call_ended.1", omit_defaults=True):
    """`facts` are what the session remembers from now on (working directory, to-do list).
    `source` names what was read, where others wrote it. `message` settled a deferred call, and
    `epoch` is the ownership under which its turn goes on."""

    turn: TurnId
    call: CallId
    outcome: Outcome
    text: str
    at: float
    facts: dict[str, str] = {}
    labels: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()
    source: str = ""
    diff: str = ""  # what it changed in files, for people
    message: str = ""
    epoch: int = 0
    more: tuple[str, ...] = ()  # other messages that settled it, too
    tokens: int = 0  # that its children used; their own sessions have them in the accounts
    remark: str = ""  # of Hermes, behind the result, for the model (see `repeats`)
    pending: bool = False  # it looked at something that goes on: to look again is no repetition


class TurnEnded(Struct, frozen=True, tag="turn_ended.1", omit_defaults=True):
    turn: TurnId
    outcome: Literal["answered", "failed"]
    at: float
    replies: tuple[Reply, ...] = ()
    why: str = ""  # it failed


class TurnInterrupted(Struct, frozen=True, tag="turn_interrupted.1", omit_defaults=True):
    """Stopped on purpose. `reached` says that a request with the latest results got to a model."""

    turn: TurnId
    why: Literal["stopped", "interrupted", "reset", "revoked", "parent"]
    at: float
    reached: bool = False


class SessionSuspended(Struct, frozen=True, tag="session_suspended.1", omit_defaults=True):
    why: str
    at: float
    replies: tuple[Reply, ...] = ()


class SessionReset(Struct, frozen=True, tag="session_reset.1", omit_defaults=True):
    """The lane has another conversation now. Rows of the old one stay where they are."""

    opens: SessionId
    why: str
    at: float
    view: View = View()
    replies: tuple[Reply, ...] = ()
    filled: int = 0  # tokens of what it begins with, as far as they can be counted


class ViewChanged(Struct, frozen=True, tag="view_changed.1"):
    """Undo and retry: the model reads something else; no row is touched."""

    view: View
    why: str
    at: float


class CompactionAsked(Struct, frozen=True, tag="compaction_asked.1", omit_defaults=True):
    """The conversation is to be summed up before a model reads it again. A person hears about it
    at `address`; without one, the model had found it too long."""

    at: float
    focus: str = ""
    address: Address | None = None


class Compacted(Struct, frozen=True, tag="compacted.1", omit_defaults=True):
    """The model reads this from now on; no row is touched. It was made of the view that stood at
    position `of`; about so many `tokens` are left."""

    of: int
    view: View
    tokens: int
    at: float
    spent: tuple[Spent, ...] = ()
    replies: tuple[Reply, ...] = ()


class CompactionFailed(Struct, frozen=True, tag="compaction_failed.1", omit_defaults=True):
    """Everything is as it was; it is not tried again by itself before `not_before`."""

    of: int
    why: str
    not_before: float
    at: float
    spent: tuple[Spent, ...] = ()
    replies: tuple[Reply, ...] = ()


class PromptMade(Struct, frozen=True, tag="prompt_made.1", omit_defaults=True):
    """The system prompt of the conversation from here on, by the digest of its text. `sources`
    are the files in it that the owner does not vouch for. `tools` is the digest of the list of
    tools that its requests carry."""

    digest: str
    at: float
    labels: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tools: str = ""


class FactSet(Struct, frozen=True, tag="fact_set.1"):
    """The session remembers a small value under a name; an empty one forgets it."""

    name: str
    value: str
    at: float


class PersonTold(Struct, frozen=True, tag="person_told.1", omit_defaults=True):
    """Something was said and nothing else changed. `messages` wait, and their sender knows it."""

    at: float
    replies: tuple[Reply, ...] = ()
    messages: tuple[str, ...] = ()


class MessageRelayed(Struct, frozen=True, tag="message_relayed.1", omit_defaults=True):
    """What another conversation sends to this chat: sent, and known here from now on."""

    message: str
    text: str
    at: float
    replies: tuple[Reply, ...] = ()


class DraftBegun(Struct, frozen=True, tag="draft_begun.1"):
    """The chat is about to show a beginning of the answer, behind `behind`. Durable before it is
    sent, so that one whose receipt is lost with its process can be found."""

    turn: TurnId
    text: str
    behind: str
    at: float


class DraftShown(Struct, frozen=True, tag="draft_shown.1"):
    """The chat shows a beginning of the answer; the answer will take its place (C54)."""

    turn: TurnId
    receipt: str
    at: float


class HomeSet(Struct, frozen=True, tag="home_set.1"):
    """The home chat was set: it gets messages that have no chat of their own."""

    address: Address
    at: float


class RestartAsked(Struct, frozen=True, tag="restart_asked.1"):
    """A person asked the gateway to restart. A crash right after this counts as the restart."""

    message: str
    at: float


Event = (
    MessageReceived
    | CommandRun
    | MessageDropped
    | TurnStarted
    | TurnMarked
    | TurnResumed
    | TurnSteered
    | ModelAnswered
    | QuestionAsked
    | QuestionAnswered
    | CallStarted
    | CallDeferred
    | CallEnded
    | TurnEnded
    | TurnInterrupted
    | SessionSuspended
    | SessionReset
    | ViewChanged
    | CompactionAsked
    | Compacted
    | CompactionFailed
    | PromptMade
    | FactSet
    | PersonTold
    | MessageRelayed
    | DraftBegun
    | DraftShown
    | HomeSet
    | GoalSet
    | GoalPaused
    | GoalJudged
    | RestartAsked
    | JobChange
)
