"""The port of detached commands: started once per id, and found again after a restart.

A command belongs to a call, outlives the process that launched it, and leaves its output and its
exit status where the next process finds them (C24).
"""

from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import Profile

Cut = Literal["", "timeout", "stopped", "unstarted"]


class CommandLaunch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command to run. `timeout_s` counts from the launch, also across restarts."""

    id: CallId
    session: SessionKey
    command: str
    workdir: str
    timeout_s: float | None = None
    background: bool = False  # has a writable standard input, and is listed
    profile: Profile = "write"  # sandbox profile, if any
    workspace: str = ""  # the folder that the owner's chat came from, instead of the default
    readable: tuple[str, ...] = ()  # further readable paths, such as its own program
    covered: tuple[str, ...] = ()  # private files of the workspace that look empty inside the box
    scratch: str = ""  # the folder that it sees as /tmp; "": one of its own that is gone with it
    pipes: tuple[str, ...] = ()  # named pipes outside of it, by which it talks to us


class Pending(Struct, frozen=True, tag="pending"):
    """Launched, but not started; launching it again starts it."""


class CommandRunning(Struct, frozen=True, tag="running"):
    """At least one of its processes is alive."""


class Ended(Struct, frozen=True, tag="ended", omit_defaults=True):
    """The command is over. It has no code if it never ran (`unstarted`, or stopped before it began)
    or if it was killed before it could leave one."""

    code: int | None = None
    cut: Cut = ""


class Lost(Struct, frozen=True, tag="lost"):
    """It started, none of its processes is alive, and it left no status: its effect is unknown."""


State = Pending | CommandRunning | Ended | Lost


class Sighting(Struct, frozen=True, kw_only=True):
    """A command as it was last seen."""

    launch: CommandLaunch
    state: State
    output: str  # path of the file with its whole output
    size: int = 0  # bytes in that file
    full: bool = False  # the file reached its limit: the rest was dropped, and the command was told
    took_s: float = 0.0
    workdir: str = ""  # working directory of its shell at the end; empty if unknown


class Terminal(Protocol):
    """Run commands. `usual` is the sandbox profile of a command that asks for none; host: no
    sandbox."""

    usual: Profile

    def is_whole(self) -> bool:
        """Return True if the usual box holds whatever code runs in it: no network, no rights, no
        file that runs later elsewhere. May build a box to find out."""

    async def launch(self, launch: CommandLaunch) -> Sighting:
        """Start the command, only once per id: a second launch returns the first one. Return when
        it has started or failed to.

        Raise ToolFailed when it cannot be tried (no such directory, no such shell).
        """

    async def look(self, call: CallId) -> Sighting | None:
        """Return the command's state; None for an unknown id."""

    async def wait(self, call: CallId, timeout_s: float) -> Sighting:
        """Wait until it is over, or for that long. Stop it when its own time limit is reached.

        Cancelling the wait leaves the command running. Raise ToolFailed for an unknown id.
        """

    async def read(self, call: CallId, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes of the output from that offset on."""

    async def write(self, call: CallId, text: bytes) -> int:
        """Write to the standard input of a background command; return how many bytes it
        accepted."""

    async def stop(self, call: CallId, cut: Literal["timeout", "stopped"]) -> Sighting | None:
        """End the command and everything it started: SIGTERM first, then SIGKILL. A command that
        has not started never will."""

    async def listed(self, session: SessionKey) -> tuple[Sighting, ...]:
        """Return the background commands of a session, oldest first, including ended ones still
        kept."""

    async def forget(self, call: CallId) -> None:
        """Delete the records of an ended command, so that its id can be launched again."""

    def launched(self, call: CallId) -> CommandLaunch | None:
        """Return the launch of that id without waiting; None for an unknown id."""

    def which(self, program: str) -> str:
        """Return the path of a program as a command would find it; "" if there is none."""

    async def strays(self) -> tuple[CallId, ...]:
        """Return the calls whose commands run here now, whichever process started them."""

    async def sweep(self) -> int:
        """Remove old commands, then the oldest ones while too much is kept; return how many."""

    async def close(self) -> None:
        """Release the resources of this process; running commands continue."""
