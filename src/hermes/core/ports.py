"""What the engine asks of models and tools. Plugins implement it; the engine imports none."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.channel import CommandContext
from hermes.core.child_sessions import PartResult, joined_text
from hermes.core.events import Event
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import (
    Address,
    Call,
    Effect,
    Line,
    Outcome,
    Spent,
    Thought,
    TurnOptions,
    Usage,
)
from hermes.core.policy import WORST, Capabilities, Finding, PolicySubject
from hermes.core.principal import NOBODY, Principal
from hermes.core.session import Session
from hermes.core.signals import Watch
from hermes.core.steps import Compact
from hermes.core.store import ChatRow, Home

# ── models ──────────────────────────────────────────────────────────────────────────────────────


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What a model is told about a tool. `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One question to a model. `system` and `tools` are byte-stable for a session's life."""

    system: str
    lines: tuple[Line, ...]
    tools: tuple[ToolSpec, ...] = ()
    blobs: Mapping[str, bytes] = {}  # media of the lines, by digest
    output_tokens_max: int | None = None


class PromptPart(Struct, frozen=True):
    """A named piece of the system prompt, so that a person can see what each costs."""

    name: str
    text: str


class Compactor(Protocol):
    """Makes a conversation shorter to read."""

    async def compact(
        self,
        step: Compact,
        session: Session,
        lines: Sequence[Line],
        providers: Sequence["Provider"],
        window: int,
        watch: Watch,
    ) -> tuple[Event, ...]:
        """The providers are asked in this order, each for what the one before could not do."""

    def failed(
        self, step: Compact, session: Session, why: str, spent: tuple[Spent, ...]
    ) -> Event: ...


class RawCall(Struct, frozen=True):
    """A tool call as the model wrote it; nothing about it has been believed yet."""

    tool: str
    arguments: str
    fault: str = ""  # why it cannot be made at all
    origin: str = ""  # where it was written, for people


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer. One that was cut, or came without a finish reason, is an error instead."""

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    finish: Literal["stop", "length", "calls", "filtered"] = "stop"
    outcome: Outcome = Outcome.OK  # of the work that it ends


class Provider(Protocol):
    @property
    def name(self) -> str:
        """provider:model, as written into the journal."""

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        """Raises a ProviderFailed. Cancelling the task closes the connection at once."""

    async def aclose(self) -> None: ...


# ── tools ───────────────────────────────────────────────────────────────────────────────────────


class Deferred(Struct, frozen=True, kw_only=True):
    """The call was begun and ends later: by a message that settles it, or, when it asks a
    `question`, by what the person answers. After `timeout_s` it has failed; 0: it may take any
    time. `waits_for` says for what, for people."""

    waits_for: str = ""
    timeout_s: float = 0.0
    question: str = ""
    choices: tuple[str, ...] = ()
    parts: int = 0  # results that it takes to end it; 0: one, without a number


class ToolResult(Struct, frozen=True, kw_only=True):
    text: str = ""
    outcome: Outcome = Outcome.OK
    facts: dict[str, str] = {}
    labels: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()  # on models that it asked
    diff: str = ""  # what it changed in files, for people; no model reads it
    pending: bool = False  # what it looked at goes on: to look again is no repetition
    deferred: Deferred | None = None  # the call has not ended; all else counts for nothing


class Presented(Struct, frozen=True, kw_only=True):
    """A call as a person sees it who is asked about it. `bound` is what else belongs to it: files,
    programs, the directory; when that is another when it would run, it is not the same call."""

    text: str
    notes: tuple[str, ...] = ()
    bound: str = ""
    whole: bool = False  # it would run in a box that holds whatever code it is


NOWHERE = Address(platform="", chat="")  # of a turn that is over


class ToolContext(Struct, frozen=True, kw_only=True):
    """Where a call is performed: whose it is, and what the session remembers."""

    session: SessionKey
    turn: TurnId
    call: Call
    facts: Mapping[str, str]
    labels: frozenset[str]  # of all that the model has read in this conversation
    watch: Watch
    host: CommandContext
    address: Address = NOWHERE  # where the turn speaks
    approved: str = ""  # the digest of what a person said yes to
    by_folder: bool = False  # it is allowed because all code of its folder is
    refused: str = ""  # why its tool may not begin a call now
    principal: Principal = NOBODY  # on whose behalf; what the call causes elsewhere is theirs
    scope: "ToolScope | None" = None  # for whom its turn has tools
    options: TurnOptions = TurnOptions()  # of its turn
    tokens: int = 0  # that its turn has used so far
    conversation: SessionId = SessionId("")


class Tool(Struct, frozen=True, kw_only=True):
    """A manifest. The engine reads it and never looks inside its functions.

    `check` says what is wrong with the arguments ("" when nothing is) and `effect` classifies
    them; both are pure. `recover` looks for the outcome of a call that a process started which is
    gone; it returns None when nobody can know, and is absent where there is nothing to look at.
    `capabilities` is the worst that it can do, and `judge` looks closer: at the arguments, with the
    session's facts; it is pure too. `present` shows a call to whoever is asked about it, and may
    look at the disk. `question` is the first line of its card. `aims` are the arguments that say
    whom, where to or how much. `address` finds the chat that a call names, for the card and the
    approval: chats change their names.
    Cancelling `run` leaves a detached command alone; `stop` ends it, because a person said so.
    `children` names the sessions that a call begins and that end with its turn; `compose` makes
    the text of a deferred call's results.
    """

    spec: ToolSpec
    check: Callable[[str], str]
    effect: Callable[[str], Effect]
    run: Callable[[ToolContext], Awaitable[ToolResult]]
    capabilities: Capabilities = WORST
    judge: Callable[[str, Mapping[str, str]], Finding] = lambda _arguments, _facts: Finding()
    present: Callable[[str, Mapping[str, str]], Presented] | None = None
    question: str = ""
    aims: tuple[str, ...] = ()
    address: Callable[[str, Sequence[ChatRow], Sequence[Home]], Address | None] | None = None
    recover: Callable[[ToolContext], Awaitable[ToolResult | None]] | None = None
    stop: Callable[[ToolContext], Awaitable[None]] | None = None
    children: Callable[[Call], tuple[SessionKey, ...]] = lambda _call: ()
    compose: Callable[[tuple[PartResult, ...]], str] = joined_text
    ways: tuple[Capabilities, ...] = ()  # all that `judge` may say a call can do; empty: the worst
    parallel: bool = False  # its calls may run beside others, as reads always may
    reviews: bool = False  # also for a look back at a conversation, which has no other tools


class ToolScope(Struct, frozen=True, kw_only=True):
    """For whom tools are asked: a session, on whose behalf, and where it hears and answers."""

    session: SessionKey
    platforms: frozenset[str]
    subject: PolicySubject
    only: tuple[str, ...] = ()  # toolsets that a parent or a schedule handed on; empty: all
    model: str = ""  # that the session was told to use; empty: that of the settings
    alone: bool = False  # this person is the only one who speaks there


class Toolset(Protocol):
    """Tools that are asked for: a fixed group, a server's, or other toolsets put together.

    `tools_for` is asked when a conversation begins; its answer is pinned in the journal.
    `withheld` is asked for every call, and again right before the call runs. `find` also gives a
    tool that is withheld: the outcome of a call that has begun is still looked for.
    """

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        """The tools that a model is told of, in the order of the prompt. No name is there twice."""

    def find(self, name: str) -> Tool | None:
        """Return the tool that models call by this name. None: it is not there (any more)."""

    def withheld(self, name: str, scope: ToolScope) -> str:
        """Say why a call of it may not begin in this scope. Empty: it may, or it is not ours."""
