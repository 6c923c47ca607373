"""Live glimpses of work in progress. They may be dropped and are never read back.

What must not be lost is an event; what is only nice to watch is a signal.
"""

from collections.abc import Callable

from msgspec import Struct

from hermes.core.events import Event
from hermes.core.ids import CallId, SessionKey, TurnId


class TextDelta(Struct, frozen=True):
    text: str


class ThoughtDelta(Struct, frozen=True):
    text: str


class CallProgress(Struct, frozen=True):
    """More output of a call that is running; or, with `replaces`, all that there is to see now."""

    call: CallId
    text: str
    replaces: bool = False


class Retrying(Struct, frozen=True):
    """The model is asked again; what was streamed of the attempt before is void. Without a reason
    it is not asked again: what was streamed turned out to be a thought."""

    why: str
    delay_s: float


class Compacting(Struct, frozen=True):
    """So many parts of a long conversation have been summed up."""

    done: int
    parts: int


class Recorded(Struct, frozen=True):
    """These events have just become durable, the last one at this position."""

    events: tuple[Event, ...]
    position: int


Glimpse = TextDelta | ThoughtDelta | CallProgress | Retrying | Compacting | Recorded


class Signal(Struct, frozen=True):
    session: SessionKey
    turn: TurnId
    glimpse: Glimpse


Watch = Callable[[Glimpse], None]
Emit = Callable[[Signal], None]
