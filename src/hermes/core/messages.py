"""What crosses our borders: messages in, replies out, and the lines a model reads."""

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from msgspec import Struct

from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.principal import Address as Address
from hermes.core.principal import Origin as Origin
from hermes.core.principal import Person as Person
from hermes.core.principal import Principal


class Effect(Enum):
    """Whether a call may run again when it is unknown if it ran before a crash."""

    READ = "read"  # changes nothing
    IDEMPOTENT = "idempotent"  # running it again makes the same thing true
    EFFECT = "effect"  # money, mail, deletion: never blindly again


class Outcome(Enum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"  # it started, and nobody can say what it did
    DENIED = "denied"
    STOPPED = "stopped"


class Media(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that came with a message, kept by the digest of its bytes."""

    digest: str
    media_type: str
    name: str = ""


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model asks for one tool. `arguments` is JSON text, always an object.

    `fault` says why the call cannot be made as it was written (not JSON, say); such a call is
    answered with that sentence and never run.
    """

    id: CallId
    tool: str
    arguments: str = "{}"
    fault: str = ""
    origin: str = ""  # where it was written, for people: the line of a script


REPLY = "reply"  # no tool: a call of this name asks a person whether an answer may be sent
LOOP = "loop"  # neither: it asks whether a program is answered any further


class Thought(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Reasoning that a provider showed. `opaque` is what it wants back, byte for byte."""

    text: str = ""
    opaque: str = ""


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one model call. `input` counts the cached ones too; cost is in US dollars."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0
    cost: float | None = None


# What a policy wants to know of a text; other labels are notes of the engine to itself.
PROVENANCE = frozenset({"untrusted", "private", "secret"})


class Spent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model call beside those that answer a turn: what it was for, and what it took."""

    purpose: str  # compaction, recall, vision, …
    model: str
    usage: Usage


def together(usages: Sequence[Usage]) -> Usage:
    """The tokens of several calls; no cost when that of one of them is not known."""
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Usage(
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
        cached=sum(usage.cached for usage in usages),
        cache_written=sum(usage.cache_written for usage in usages),
        reasoning=sum(usage.reasoning for usage in usages),
        cost=sum(costs) if costs and len(costs) == len(usages) else None,
    )


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the transcript."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    turn: TurnId = TurnId("")
    at: float = 0.0
    sender: str = ""
    media: tuple[Media, ...] = ()
    calls: tuple[Call, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    model: str = ""  # provider:model that wrote an assistant line
    call: CallId = CallId("")
    outcome: Outcome | None = None
    labels: tuple[str, ...] = ()
    note: str = ""  # a word of ours, in a request only; no stored line has one


class ScheduledRun(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a job: which, when it was due, and what becomes of its answer.

    `then` says what follows the calls that are made first: `ask` a model; `gate`: ask one, unless
    their result says that there is nothing to do; `answer`: their result is the answer."""

    job: str
    name: str
    due: float = 0.0  # 0: a person asked for it
    targets: tuple[Address, ...] = ()
    told: tuple[Address, ...] = ()  # where it is said that the run failed
    then: Literal["ask", "gate", "answer"] = "ask"
    late_s: float = 0.0
    attach: bool = True
    tokens_max: int = 0
    timeout_s: float = 0.0


class ReportTo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the report of work in the background goes: to the session that began it, as a message
    on that person's behalf. In a later conversation of it only the person reads it."""

    address: Address
    conversation: SessionId
    principal: Principal


NO_TOOLS = ("none",)  # for `TurnOptions.tools`, where a turn shall have no tool at all


SCRIPT_NAME = "hermes:script"  # of every script, in the place of a model's name
SCRIPT = "script:"  # for `TurnOptions.model`: before the call whose script speaks


class TurnOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the turn that a message begins differs from the others of its conversation."""

    model: str = ""  # another model than the session's
    tools: tuple[str, ...] = ()  # only these; none: all that the session has
    calls: tuple[Call, ...] = ()  # made first, before a model is asked; their ids are not used
    title: str = ""  # what it is about, in a few words for people
    steps_max: int = 0  # model requests at most; 0: the limit of the settings
    tokens_max: int = 0
    workdir: str = ""  # where its commands begin
    isolated: bool = False  # that is a copy, made for it alone
    role: str = ""  # of a child: what it is told about itself
    report_to: ReportTo | None = None  # no call waits for its answer
    run: ScheduledRun | None = None  # of a job
    scratch: str = ""  # whose /tmp its commands have, by name; "": that of its own session
    scripted: bool = False  # its model is a program of ours: it reads no prompt and costs nothing


class TurnReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a turn ended whose last words are the result of another session's call."""

    turn: TurnId
    outcome: Outcome = Outcome.OK
    model: str = ""
    usage: Usage = Usage()
    whole: str = ""  # the file with all of its words, where they are too long to be read at once
    title: str = ""
    copy: str = ""  # the folder that was made for it alone
    to: ReportTo | None = None


class CallSettlement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which deferred call a message ends, and how; its text is the result. A call that waits for
    several results names them by numbers from 1 on."""

    call: CallId
    outcome: Outcome = Outcome.OK
    part: int = 0  # 0: it is the only one
    report: TurnReport | None = None  # of the turn that brought it


class Inbound(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message, already parsed by its channel. (account, id) names it for ever.

    `relay` is a message of ours for that chat: it is passed on, and never answered. `review` asks
    what is worth keeping of another conversation; nobody waits for its answer.
    """

    id: MessageId
    account: str
    session: SessionKey
    sender: Person
    address: Address
    text: str
    at: float
    origin: Origin = "person"
    media: tuple[Media, ...] = ()
    labels: tuple[str, ...] = ()
    place: str = ""  # how people call the chat; for the directory
    waits: bool = False  # it neither interrupts nor steers, whatever the mode
    before: tuple["Line", ...] = ()  # the conversation so far, where the sender carries it
    instructions: str = ""  # the sender's own, for the whole conversation
    workdir: str = ""  # where the sender is: the session's commands run there
    node: str = ""  # the process that took it in
    spent: tuple[Spent, ...] = ()  # on understanding it (what a sticker shows)
    buttons: tuple[tuple[str, str], ...] = ()  # of a relay: label, and what pressing it says
    options: TurnOptions | None = None
    settles: CallSettlement | None = None  # with the origin `result`
    automatic: bool = False  # a program wrote it and reads the answer: a bot, an auto-reply
    direct: bool | None = None  # it was said in a chat of two; None: the session's key tells
    principal: Principal | None = None  # on whose behalf, where another message caused this one
    stops: bool = False  # with the origin `parent`: ends the work here instead of beginning some
    conversation: SessionId = SessionId("")  # only there a model reads it; "": in any


# `removal` says nothing: it takes a draft away for which no answer comes, or ends a child's work.
ReplyKind = Literal["answer", "notice", "question", "removal"]


class UnseenDraft(Struct, frozen=True, omit_defaults=True):
    """A draft that may be in the chat after `behind`: it was begun, and its receipt is not recorded
    yet."""

    turn: TurnId
    text: str
    behind: str


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message to a person. The id lets a platform refuse to send it twice."""

    id: ReplyId
    session: SessionKey
    address: Address
    text: str
    kind: ReplyKind = "answer"
    replaces: str = ""  # receipt of a draft in whose place it goes
    unseen: UnseenDraft | None = None  # or the draft, where its receipt is not known
    media: tuple[Media, ...] = ()
    buttons: tuple[tuple[str, str], ...] = ()  # label, and what pressing it says
    labels: tuple[str, ...] = ()  # of what an answer was made of, for chats that hear of it
    ends: TurnReport | None = None  # these are the last words of a turn, and a call's result


def sound(text: str) -> str:
    """What every store and every model can take: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
