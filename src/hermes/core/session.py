"""A session is what its journal says. `fold` is the only way to make one.

It holds what a decision needs, not the transcript: rows are projected (`transcript.rows`) and read
only when a model is asked, so a long conversation costs no more to load than a short one.
"""

from enum import Enum

from msgspec import Struct

from hermes.core import events as e
from hermes.core.grants import Grant
from hermes.core.ids import CallId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Call, Effect, Inbound, Origin
from hermes.core.people import Sender


class Stage(Enum):
    """How far a call has come."""

    INTENDED = "intended"
    ASKED = "asked"
    ALLOWED = "allowed"
    STARTED = "started"
    ENDED = "ended"


class Track(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of the latest answer. STARTED under an older epoch means: lost in a crash."""

    call: Call
    stage: Stage = Stage.INTENDED
    effect: Effect = Effect.EFFECT
    epoch: int = 0
    started_at: float = 0.0
    approved: bool = False  # a person said yes to it
    question: str = ""  # the id of what a person was asked about it
    digest: str = ""  # of what would run when a person was asked


class Mark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`resume_pending`: why, since when, and which messages the cut run already knew of."""

    reason: e.MarkReason
    at: float
    queued: tuple[str, ...] = ()


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn in progress. `epoch` is the ownership under which its current run began."""

    id: TurnId
    address: Address
    epoch: int
    started_at: float
    first: int = 0  # position of the event that began it
    runs: int = 1
    tracks: tuple[Track, ...] = ()
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
    words: str = ""  # what its person said, as far as nobody else can have written it


class Idle(Struct, frozen=True, tag="idle"):
    """No turn."""


class Running(Struct, frozen=True, tag="running", omit_defaults=True):
    turn: Turn
    mark: Mark | None = None


class Asking(Struct, frozen=True, tag="asking", omit_defaults=True):
    """The turn is parked until a person answers about one call."""

    turn: Turn
    call: CallId
    asked_at: float
    mark: Mark | None = None
    question: str = ""
    expires_at: float = 0.0  # 0: never
    offer: Grant | None = None  # what "always" would mean


class Suspended(Struct, frozen=True, tag="suspended"):
    """Not resumed any more; the next message opens another conversation."""

    turn: Turn | None
    why: str
    at: float


Phase = Idle | Running | Asking | Suspended


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
    facts: dict[str, str] = {}
    told: tuple[str, ...] = ()  # waiting messages whose sender knows that they wait

    @property
    def turn(self) -> Turn | None:
        return None if isinstance(self.phase, Idle) else self.phase.turn

    @property
    def mark(self) -> Mark | None:
        return self.phase.mark if isinstance(self.phase, Running | Asking) else None


def ref(inbound: Inbound) -> str:
    """The name of a message inside its lane."""
    return f"{inbound.account}#{inbound.id}"


def speaker(session: Session, turn: Turn) -> Sender:
    return Sender(session.key, turn.address, turn.sender, turn.origin)


def call_id(turn: Turn, n: int) -> CallId:
    """The id of the n-th call of the next answer: no other call anywhere has it."""
    return CallId(f"{turn.id}-{turn.calls + n}")
