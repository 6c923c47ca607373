"""The first view of a session that is opened: its state, the last messages, the commands."""

from msgspec import Struct

from hermes.core.channel import Command
from hermes.core.ids import SessionId
from hermes.core.messages import Line
from hermes.core.store import UsageSum


class Offered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command that is available, as it is listed."""

    name: str
    summary: str
    argument: str = ""


class Scene(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session at a glance. The events of the open turn come after the position `since`."""

    id: SessionId = SessionId("")
    head: int = 0
    title: str = ""
    phase: str = "idle"  # idle, running, asking, suspended
    since: int | None = None
    model: str = ""  # chosen for this session; "": the one from the settings
    filled: int = 0  # tokens that the model would read
    waiting: int = 0  # messages
    asking: int = 0  # sessions with an open question, in all chats
    spent: tuple[UsageSum, ...] = ()  # cost of this conversation
    recent: tuple[Line, ...] = ()


def offered(command: Command) -> Offered:
    return Offered(name=command.name, summary=command.summary, argument=command.argument)
