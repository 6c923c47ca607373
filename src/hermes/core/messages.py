"""What crosses our borders: messages in, replies out, and the lines a model reads."""

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from msgspec import Struct

from hermes.core.ids import CallId, MessageId, ReplyId, SessionKey, TurnId


class Effect(Enum):
    """May a call run again when we cannot know whether it ran before the crash?"""

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


class Person(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who speaks. `id` is the platform's immutable one; the name is only for display."""

    id: str
    name: str = ""


class Address(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a reply goes."""

    platform: str
    chat: str
    thread: str = ""
    account: str = ""


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


Origin = Literal["person", "schedule", "webhook", "parent", "boot", "background", "relay", "review"]


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


ReplyKind = Literal["answer", "notice", "question"]


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message to a person. The id lets a platform refuse to send it twice."""

    id: ReplyId
    session: SessionKey
    address: Address
    text: str
    kind: ReplyKind = "answer"
    replaces: str = ""  # receipt of a draft in whose place it goes
    media: tuple[Media, ...] = ()
    buttons: tuple[tuple[str, str], ...] = ()  # label, and what pressing it says
    labels: tuple[str, ...] = ()  # of what an answer was made of, for chats that hear of it


def sound(text: str) -> str:
    """What every store and every model can take: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
