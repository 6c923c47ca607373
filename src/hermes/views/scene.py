"""What somebody sees who opens a session: how it stands, what was said last, what can be said."""

from msgspec import Struct

from hermes.core.channel import Command
from hermes.core.ids import SessionId
from hermes.core.messages import Line
from hermes.core.session import Asking, Idle, Running, Session
from hermes.core.store import UsageSum


class Offered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command that may be said, as it is listed."""

    name: str
    summary: str
    argument: str = ""


class Scene(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session at a glance. `since` is the position behind which the open turn's events stand."""

    id: SessionId = SessionId("")
    head: int = 0
    title: str = ""
    phase: str = "idle"  # idle, running, asking, suspended
    since: int | None = None
    model: str = ""  # that the session was told to use; "": the one of the settings
    filled: int = 0  # tokens that a model would read
    waiting: int = 0  # messages
    asking: int = 0  # sessions everywhere in which a question is open
    spent: tuple[UsageSum, ...] = ()  # on this conversation
    recent: tuple[Line, ...] = ()


def phase_of(session: Session) -> str:
    match session.phase:
        case Idle():
            return "idle"
        case Running():
            return "running"
        case Asking():
            return "asking"
        case _:
            return "suspended"


def offered(command: Command) -> Offered:
    return Offered(name=command.name, summary=command.summary, argument=command.argument)
