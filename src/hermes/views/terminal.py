"""The port of a place where commands run, detached from us: begun once per id, found again later.

A command belongs to a call, outlives the process that launched it, and leaves its output and its
exit status where the next process finds them (C24).
"""

from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.ids import CallId, SessionKey
from hermes.views.sandbox import Profile

Cut = Literal["", "timeout", "stopped", "unstarted"]


class Launch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to run. `timeout_s` counts from the launch and is honoured across restarts."""

    id: CallId
    session: SessionKey
    command: str
    workdir: str
    timeout_s: float | None = None
    background: bool = False  # may be written to, and is listed
    profile: Profile = "write"  # of the box, where there is one
    workspace: str = ""  # where the owner's chat came from, in place of the usual one
    readable: tuple[str, ...] = ()  # more that it may read, such as its own program


class Pending(Struct, frozen=True, tag="pending"):
    """Launched, but the command has not begun; whoever launches it again begins it."""


class Running(Struct, frozen=True, tag="running"):
    """Some process of it is alive."""


class Ended(Struct, frozen=True, tag="ended", omit_defaults=True):
    """It is over for certain. Without a code it never ran (`unstarted`, or stopped before it
    began) or it was killed by us before it could leave one."""

    code: int | None = None
    cut: Cut = ""


class Lost(Struct, frozen=True, tag="lost"):
    """It began, no process of it is alive and it left no status: nobody can say what it did."""


State = Pending | Running | Ended | Lost


class Sighting(Struct, frozen=True, kw_only=True):
    """A command as it was just seen."""

    launch: Launch
    state: State
    output: str  # path of the file with all of its output
    size: int = 0  # bytes in that file
    full: bool = False  # the file reached its limit: the rest was dropped and the command told so
    took_s: float = 0.0
    workdir: str = ""  # where its shell was when it ended; empty when that is not known


class Terminal(Protocol):
    async def launch(self, launch: Launch) -> Sighting:
        """Begin the command, once for ever per id: a second launch finds the first one. Returns
        when it has begun or cannot.

        Raises ToolFailed when it cannot even be tried (no such directory, no such shell)."""

    async def look(self, call: CallId) -> Sighting | None:
        """None when nothing is known here under that id."""

    async def wait(self, call: CallId, timeout_s: float) -> Sighting:
        """Until it is over, or for that long. Stops it when its own time is up meanwhile.

        Cancelling the wait leaves the command alone. Raises ToolFailed for an unknown id."""

    async def read(self, call: CallId, offset: int, limit: int) -> bytes:
        """At most `limit` bytes of the output from that offset on."""

    async def write(self, call: CallId, text: bytes) -> int:
        """Put bytes into the standard input of a background command; returns how many it took."""

    async def stop(self, call: CallId, cut: Literal["timeout", "stopped"]) -> Sighting | None:
        """End it with everything it started: politely, then by force. One that has not begun
        never will."""

    async def listed(self, session: SessionKey) -> tuple[Sighting, ...]:
        """The background commands of a session, oldest first; ended ones too while kept."""

    async def forget(self, call: CallId) -> None:
        """Drop what is kept of a command that is over, so that its id may be launched anew."""

    def which(self, program: str) -> str:
        """The path of a program as a command would find it; empty when there is none."""
