"""A session is what its journal says. `fold` is the only way to make one.

It holds what a decision needs, not the transcript: rows are projected (`transcript.rows`) and read
only when a model is asked, so a long conversation costs no more to load than a short one.
"""

from collections.abc import Mapping
from enum import Enum
from hashlib import blake2b

from msgspec import Struct, field

from hermes.core import events as e
from hermes.core.facts import SessionFacts
from hermes.core.goals import Goal
from hermes.core.grants import Grant
from hermes.core.ids import CallId, SessionId, SessionKey, TurnId
from hermes.core.messages import (
    Address,
    Call,
    Effect,
    Inbound,
    Origin,
    Outcome,
    TurnOptions,
    UnseenDraft,
    Usage,
)
from hermes.core.people import Sender, principal_of
from hermes.core.principal import Principal

SCRATCH = "scratch"  # in the facts: the name of the conversation's scratch place


class Stage(Enum):
    """How far a call has come."""

    INTENDED = "intended"
    ASKED = "asked"
    ALLOWED = "allowed"
    STARTED = "started"
    DEFERRED = "deferred"  # it was begun, and ends by a later message
    ENDED = "ended"


class CallState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of the latest answer. STARTED under an older epoch means: lost in a crash."""

    call: Call
    stage: Stage = Stage.INTENDED
    effect: Effect = Effect.EFFECT
    epoch: int = 0
    started_at: float = 0.0
    approved: bool = False  # a person said yes to it
    question: str = ""  # the id of what a person was asked about it
    digest: str = ""  # of what would run when a person was asked
    wants_text: bool = False  # the person's answer is the result
    choices: tuple[str, ...] = ()  # that were offered with such a question
    asked: str = ""  # platform:id of the one person who may answer it
    queued: tuple[str, ...] = ()  # messages that were there before it: they answer something else
    asked_at: float = 0.0
    expires_at: float = 0.0  # of a question or a deferred call; 0: never
    offer: Grant | None = None  # what "always" would mean
    session_offer: Grant | None = None  # what "for this session" would mean
    folder_offer: Grant | None = None  # what "for this folder" would mean
    children: tuple[SessionKey, ...] = ()  # sessions that work for it
    parts: int = 0  # results that it waits for; 0: one, without a number


class Mark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`resume_pending`: why, since when, and which messages the cut run already knew of."""

    reason: e.MarkReason
    at: float
    queued: tuple[str, ...] = ()


class Voice(Struct, frozen=True, omit_defaults=True):
    """A person whose words are in a turn, and where they spoke."""

    id: str
    address: Address
    origin: Origin = "person"
    direct: bool | None = None
    principal: Principal | None = None


class SeenCall(Struct, frozen=True, omit_defaults=True):
    """A call of a turn with its result, and in how many answers it was made. By the last one, the
    turn had made so many changes and steps (see `repeats`)."""

    name: str  # a digest of both
    count: int = 1
    changes: int = 0
    step: int = 0


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn in progress. `epoch` is the ownership under which its current run began."""

    id: TurnId
    address: Address
    epoch: int
    started_at: float
    first: int = 0  # position of the event that began it
    runs: int = 1
    call_states: tuple[CallState, ...] = field(default=(), name="tracks")  # as snapshots call it
    answer: str | None = None
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    resumed: Mark | None = None  # why this run is not the first; the recovery note says so
    joined: bool = False  # a new message of the person came with the resume
    node: str = ""  # the process of its current run
    sender: str = ""  # who spoke last
    origin: Origin = "person"
    draft: str = ""  # receipt of what the chat shows of the answer so far
    unseen: UnseenDraft | None = None  # the chat may show something, and nobody knows where
    words: str = ""  # what its person said, as far as nobody else can have written it
    voices: tuple[Voice, ...] = ()  # everybody whose words are in it
    options: TurnOptions = TurnOptions()
    automatic: bool = False  # programs alone wrote it (see `loop_guard`)
    outcome: Outcome = Outcome.OK  # by its answer
    model: str = ""  # that answered last
    usage: Usage | None = None  # of its own model calls
    given: str = ""  # the result of the calls that a job's run begins with
    fault: str = ""  # what the first of them said that failed
    seen: tuple[SeenCall, ...] = ()  # calls that ended (see `repeats`)
    changes: int = 0  # calls that changed something for the first time
    failing: dict[str, int] = {}  # tools, and how often each failed in a row
    announced: str = ""  # an answer that only announced something: the model was asked once more
    repeated: str = ""  # the tool of a call that was made too often


class Idle(Struct, frozen=True, tag="idle"):
    """No turn."""


class Running(Struct, frozen=True, tag="running", omit_defaults=True):
    turn: Turn
    mark: Mark | None = None


class Waiting(Struct, frozen=True, tag="waiting", omit_defaults=True):
    """The turn is parked until something from outside ends one of its calls: a person's answer,
    a child's last word, a process. No process is busy with it meanwhile."""

    turn: Turn
    mark: Mark | None = None


class Suspended(Struct, frozen=True, tag="suspended"):
    """Not resumed any more; the next message opens another conversation."""

    turn: Turn | None
    why: str
    at: float


Phase = Idle | Running | Waiting | Suspended


class Compaction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be done about a conversation that grows too long, and how it went so far."""

    wanted: e.CompactionAsked | None = None
    failures: int = 0  # in a row
    not_before: float = 0.0
    overflows: int = 0  # since a model last answered


class Session(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a decision needs, and nothing that is not in the journal."""

    key: SessionKey
    id: SessionId = SessionId("")
    position: int = 0  # events folded
    rows: int = 0  # transcript rows of this conversation
    waiting: tuple[Inbound, ...] = ()
    phase: Phase = Idle()
    runs: int = 0  # begun since the last turn that came to its end (C14)
    view: e.View = e.View()
    unread: tuple[CallId, ...] = ()  # results of a stopped turn that no model has read
    filled: int = 0  # tokens that a model would read, by its provider's count where there is one
    used: int = 0  # tokens of all model calls for this conversation
    compaction: Compaction = Compaction()
    viewed_at: int = 0  # position at which the view last became another one
    facts: SessionFacts = SessionFacts()
    told: tuple[str, ...] = ()  # waiting messages whose sender knows that they wait
    grants: tuple[Grant, ...] = ()  # what the owner allowed for this conversation
    sources: tuple[str, ...] = ()  # what others wrote and was read in it, for cards
    answered: dict[str, int] = {}  # programs, and how many answers each had in a row; -1: no more
    direct: bool | None = None  # the latest turn came from a chat of two; see `people.is_direct`
    heard_at: float = 0.0  # when a person last wrote here; see `Manifest.window_s`
    failures: int = 0  # of a job's runs, in a row
    incident: str = ""  # why the last one failed
    removed: bool = False  # the job whose session it is: none of its runs begins or goes on
    goal: Goal | None = None  # what it works towards by itself
    salvaged: bool = False  # what is before cannot be read, and nobody has put that in order yet

    @property
    def remembered(self) -> Mapping[str, str]:
        """Return the facts by name, as tools read them, and the name of the scratch place."""
        shared = self.turn.options.scratch if self.turn is not None else ""
        return {**self.facts.by_name(), SCRATCH: shared or scratch_name(self.key, self.id)}

    @property
    def turn(self) -> Turn | None:
        return None if isinstance(self.phase, Idle) else self.phase.turn

    @property
    def mark(self) -> Mark | None:
        return self.phase.mark if isinstance(self.phase, Running | Waiting) else None

    @property
    def questions(self) -> tuple[CallState, ...]:
        """Return the calls about which a person is asked now, the oldest first."""
        call_states = (
            self.phase.turn.call_states if isinstance(self.phase, Running | Waiting) else ()
        )
        return tuple(call_state for call_state in call_states if call_state.stage is Stage.ASKED)

    @property
    def children(self) -> tuple[SessionKey, ...]:
        """Return the sessions that do a part of the open turn's work now."""
        states = self.turn.call_states if self.turn is not None else ()
        return tuple(key for state in states if works(state) for key in state.children)

    @property
    def due_at(self) -> float:
        """Return when a question or a deferred call runs out of time; 0 when none does."""
        call_states = (
            self.phase.turn.call_states if isinstance(self.phase, Running | Waiting) else ()
        )
        return min((t.expires_at for t in call_states if waits(t) and t.expires_at), default=0.0)

    @property
    def phase_name(self) -> str:
        """Return the phase as listings have it: idle, running, asking or suspended."""
        if isinstance(self.phase, Waiting):
            return "asking" if self.questions else "running"
        return type(self.phase).__name__.lower()


def works(call_state: CallState) -> bool:
    """Return True if the call has begun and has not ended."""
    return call_state.stage in (Stage.STARTED, Stage.DEFERRED)


def scratch_name(key: SessionKey, id_: SessionId) -> str:
    """Return the name of a conversation's scratch place: plain letters, whatever its key is."""
    return blake2b(f"{key}\n{id_}".encode(), digest_size=10).hexdigest()


def waits(call_state: CallState) -> bool:
    """Return True if only something from outside can end this call."""
    return call_state.stage in (Stage.ASKED, Stage.DEFERRED)


def chosen(track: CallState, said: str) -> str:
    """Return the choice whose number this is; else the words themselves."""
    word = said.strip().rstrip(".)")
    number = int(word) if word.isdecimal() and len(word) < 3 else 0
    return track.choices[number - 1] if 0 < number <= len(track.choices) else said


def ref(inbound: Inbound) -> str:
    """The name of a message inside its lane."""
    return f"{inbound.account}#{inbound.id}"


def speaker(session: Session, turn: Turn) -> Sender:
    """Who spoke last; of two messages that differ in their rights, the weaker one."""
    last = (turn.sender, turn.address)
    said = [each for each in speakers(session, turn) if (each.id, each.address) == last]
    said = said or [Sender(session.key, turn.address, turn.sender, turn.origin)]
    return max(said, key=lambda each: principal_of(each).ceiling)


def speakers(session: Session, turn: Turn) -> tuple[Sender, ...]:
    """Return all people whose words are in the turn. It has the rights of the weakest (C64)."""
    voices = turn.voices or (Voice(turn.sender, turn.address, turn.origin),)
    key = session.key
    return tuple(Sender(key, v.address, v.id, v.origin, v.direct, v.principal) for v in voices)


def voices_with(voices: tuple[Voice, ...], taken: tuple[Inbound, ...]) -> tuple[Voice, ...]:
    more = (Voice(i.sender.id, i.address, i.origin, i.direct, i.principal) for i in taken)
    return tuple(dict.fromkeys((*voices, *more)))


def call_id(turn: Turn, n: int) -> CallId:
    """The id of the n-th call of the next answer: no other call anywhere has it."""
    return CallId(f"{turn.id}-{turn.calls + n}")
