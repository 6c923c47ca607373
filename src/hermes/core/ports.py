"""What the engine asks of models and tools. Plugins implement it; the engine imports none."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.channel import Desk
from hermes.core.events import Event
from hermes.core.ids import SessionKey, TurnId
from hermes.core.messages import Call, Effect, Line, Outcome, Spent, Thought, Usage
from hermes.core.policy import WORST, Capabilities, Finding
from hermes.core.session import Session
from hermes.core.signals import Watch
from hermes.core.step import Compact

# ── models ──────────────────────────────────────────────────────────────────────────────────────


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What a model is told about a tool. `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str


class Request(Struct, frozen=True, kw_only=True):
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


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer. One that was cut, or came without a finish reason, is an error instead."""

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    finish: Literal["stop", "length", "calls", "filtered"] = "stop"


class Provider(Protocol):
    @property
    def name(self) -> str:
        """provider:model, as written into the journal."""

    async def ask(self, request: Request, watch: Watch) -> Answer:
        """Raises a ProviderFailed. Cancelling the task closes the connection at once."""

    async def aclose(self) -> None: ...


# ── tools ───────────────────────────────────────────────────────────────────────────────────────


class ToolResult(Struct, frozen=True, kw_only=True):
    text: str
    outcome: Outcome = Outcome.OK
    facts: dict[str, str] = {}
    labels: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()  # on models that it asked


class Presented(Struct, frozen=True, kw_only=True):
    """A call as a person sees it who is asked about it. `bound` is what else belongs to it: files,
    programs, the directory; when that is another when it would run, it is not the same call."""

    text: str
    notes: tuple[str, ...] = ()
    bound: str = ""


class Bench(Struct, frozen=True, kw_only=True):
    """Where a call is performed: whose it is, and what the session remembers."""

    session: SessionKey
    turn: TurnId
    call: Call
    facts: Mapping[str, str]
    labels: frozenset[str]  # of all that the model has read in this conversation
    watch: Watch
    desk: Desk
    approved: str = ""  # the digest of what a person said yes to


class Tool(Struct, frozen=True, kw_only=True):
    """A manifest. The engine reads it and never looks inside its functions.

    `check` says what is wrong with the arguments ("" when nothing is) and `effect` classifies
    them; both are pure. `seek` looks for the outcome of a call that was started by a process that
    is gone; it returns None when nobody can know, and is absent where there is nothing to look at.
    `capabilities` is the worst that it can do, and `judge` looks closer: at the arguments, with the
    session's facts; it is pure too. `present` shows a call to whoever is asked about it, and may
    look at the disk. `aims` are the arguments that say whom, where to or how much.
    Cancelling `run` leaves a detached command alone; `stop` ends it, because a person said so.
    """

    spec: ToolSpec
    check: Callable[[str], str]
    effect: Callable[[str], Effect]
    run: Callable[[Bench], Awaitable[ToolResult]]
    capabilities: Capabilities = WORST
    judge: Callable[[str, Mapping[str, str]], Finding] = lambda _arguments, _facts: Finding()
    present: Callable[[str, Mapping[str, str]], Presented] | None = None
    aims: tuple[str, ...] = ()
    seek: Callable[[Bench], Awaitable[ToolResult | None]] | None = None
    stop: Callable[[Bench], Awaitable[None]] | None = None
    reviews: bool = False  # also for a look back at a conversation, which has no other tools
