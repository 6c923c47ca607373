"""The protocol between a chat and the gateway of one home: JSON lines, one value each. Pure.

A chat sends requests with a number `n`, and one value with that number comes back. What it follows
is sent without a request: each event once, in order and with its position, and replies to show.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hermes.core import errors
from hermes.core.channel import GatewayStatus
from hermes.core.errors import ChannelDown, HermesError
from hermes.core.events import Event
from hermes.core.ids import CallId, SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow
from hermes.core.signals import (
    CallProgress,
    Compacting,
    Recorded,
    Retrying,
    Signal,
    TextDelta,
    ThoughtDelta,
)
from hermes.core.store import Accepted, ConversationRow
from hermes.views.scene import Offered, Scene
from hermes.views.turn_story import StepRow

PROTOCOL = 1
# What was added since: a chat asks for it only where the gateway's hello names it.
SCENES = "scenes"
ABILITIES = (SCENES,)
LINE_BYTES_MAX = 16_000_000

Count = Annotated[int, Meta(ge=-1, le=2**53)]  # such as a store can take

# ── what a chat says ────────────────────────────────────────────────────────────────────────────


class AskStatus(Struct, frozen=True, tag="status"):
    n: int


class Say(Struct, frozen=True, tag="say"):
    """Store a message. The same id again is the same message."""

    n: int
    inbound: Inbound


class Follow(Struct, frozen=True, tag="follow"):
    """Send the events after `after`, or from now on; with `live` also text as it streams."""

    n: int
    key: SessionKey
    after: Count | None
    live: bool


class Deliver(Struct, frozen=True, tag="deliver"):
    """Offer what waits for a session; answered when nothing more can be offered."""

    n: int
    key: SessionKey


class AskOutcome(Struct, frozen=True, tag="outcome"):
    n: int
    key: SessionKey
    turn: TurnId | None


class DeliveryShown(Struct, frozen=True, tag="shown"):
    """Confirm that a person can see what was delivered under this key."""

    key: str


class AskScene(Struct, frozen=True, tag="scene"):
    """Ask how a session stands, with so many of its latest rows."""

    n: int
    key: SessionKey
    recent: Count = 0


class AskCommands(Struct, frozen=True, tag="commands"):
    n: int


class AskConversations(Struct, frozen=True, tag="conversations"):
    """Ask for the conversations of one session, or of all, the latest first."""

    n: int
    key: SessionKey | None
    limit: Count


Looked = AskScene | AskCommands | AskConversations
Asked = AskStatus | Say | Follow | Deliver | AskOutcome | DeliveryShown | Looked

# ── what a gateway says ─────────────────────────────────────────────────────────────────────────


class Hello(Struct, frozen=True, tag="hello"):
    protocol: int
    abilities: tuple[str, ...] = ()


class Done(Struct, frozen=True, tag="done"):
    n: int


class Failed(Struct, frozen=True, tag="failed"):
    n: int
    error: str  # a class of core/errors.py
    why: str


class StatusTold(Struct, frozen=True, tag="status"):
    n: int
    status: GatewayStatus


class SayTold(Struct, frozen=True, tag="accepted"):
    n: int
    accepted: Accepted


class Following(Struct, frozen=True, tag="following"):
    """The session's position when following began; nothing after it is missed, nor live text."""

    n: int
    head: int


class TurnOutcome(Struct, frozen=True, kw_only=True):
    """The current conversation of a session, and what one of its turns did."""

    session_id: SessionId
    turn: TurnRow | None = None
    steps: tuple[StepRow, ...] = ()


class OutcomeTold(Struct, frozen=True, tag="outcome"):
    n: int
    outcome: TurnOutcome


class SceneTold(Struct, frozen=True, tag="scene"):
    n: int
    scene: Scene


class CommandsTold(Struct, frozen=True, tag="commands"):
    n: int
    commands: tuple[Offered, ...]


class ConversationsTold(Struct, frozen=True, tag="conversations"):
    n: int
    rows: tuple[ConversationRow, ...]


class Happened(Struct, frozen=True, tag="event"):
    session: SessionKey
    event: Event
    position: int


class WireText(Struct, frozen=True, tag="text"):
    session: SessionKey
    turn: TurnId
    text: str


class Thinking(Struct, frozen=True, tag="thought"):
    session: SessionKey
    turn: TurnId
    text: str


class WireProgress(Struct, frozen=True, tag="progress"):
    session: SessionKey
    turn: TurnId
    call: CallId
    text: str
    replaces: bool = False


class Retry(Struct, frozen=True, tag="retry"):
    session: SessionKey
    turn: TurnId
    why: str
    delay_s: float


class SummingUp(Struct, frozen=True, tag="compacting"):
    session: SessionKey
    turn: TurnId
    done: int
    parts: int


class Delivered(Struct, frozen=True, tag="reply"):
    """A reply to show, and to confirm by its key."""

    key: str
    reply: Reply
    chunk: str


LookedAt = SceneTold | CommandsTold | ConversationsTold
Answered = Done | Failed | StatusTold | SayTold | Following | OutcomeTold | LookedAt
Glimpsed = WireText | Thinking | WireProgress | Retry | SummingUp
Told = Hello | Answered | Happened | Glimpsed | Delivered

_encoder = msgspec.json.Encoder()
_asked: msgspec.json.Decoder[Asked] = msgspec.json.Decoder(Asked)
_told: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)


def line(value: Asked | Told) -> bytes:
    return _encoder.encode(value) + b"\n"


def asked(raw: bytes) -> Asked:
    """Decode a request. Raise ChannelDown for anything else."""
    try:
        return _asked.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as broken:
        raise ChannelDown(f"a chat sent an invalid message: {broken}", delay_s=0) from broken


def told(raw: bytes) -> Told:
    """Decode an answer. Raise ChannelDown for anything else, such as another version's."""
    try:
        return _told.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as broken:
        why = f"the gateway sent an invalid message: {broken}"
        raise ChannelDown(why, delay_s=0) from broken


def glimpsed(signal: Signal) -> Glimpsed | None:
    """Return a live signal as it is sent; recorded events are sent one by one instead."""
    session, turn = signal.session, signal.turn
    match signal.glimpse:
        case TextDelta(text=text):
            return WireText(session, turn, text)
        case ThoughtDelta(text=text):
            return Thinking(session, turn, text)
        case CallProgress(call=call, text=text, replaces=replaces):
            return WireProgress(session, turn, call, text, replaces)
        case Retrying(why=why, delay_s=delay_s):
            return Retry(session, turn, why, delay_s)
        case Compacting(done=done, parts=parts):
            return SummingUp(session, turn, done, parts)
        case Recorded():
            return None


def signal_of(said: Glimpsed | Happened) -> Signal:
    match said:
        case WireText(text=text):
            return Signal(said.session, said.turn, TextDelta(text))
        case Thinking(text=text):
            return Signal(said.session, said.turn, ThoughtDelta(text))
        case WireProgress(call=call, text=text, replaces=replaces):
            return Signal(said.session, said.turn, CallProgress(call, text, replaces))
        case Retry(why=why, delay_s=delay_s):
            return Signal(said.session, said.turn, Retrying(why, delay_s))
        case SummingUp(done=done, parts=parts):
            return Signal(said.session, said.turn, Compacting(done, parts))
        case Happened(event=event, position=position):
            return Signal(said.session, TurnId(""), Recorded((event,), position))


_TELLABLE = (
    errors.Rejected,
    errors.StoreBusy,
    errors.StoreFull,
    errors.StoreReadOnly,
    errors.StoreCorrupt,
    errors.StoreFailed,
)


def failure(n: int, error: HermesError) -> Failed:
    known = next((kind for kind in _TELLABLE if isinstance(error, kind)), errors.Rejected)
    return Failed(n, known.__name__, str(error))


def error_of(failed: Failed) -> HermesError:
    """Return the same error on this side."""
    kinds = {kind.__name__: kind for kind in _TELLABLE}
    return kinds.get(failed.error, errors.Rejected)(failed.why)
