"""The port of the sandbox that confines a command, and of the probes that test it.

A box is a prefix of arguments, an environment and limits; the code that starts a process asks for
one first. The wrapper of a detached command stays outside, so nothing inside can forge its status.
"""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Final, Literal, Protocol

from msgspec import Struct

# read: the workspace is read-only. write: writable, except for files that run later.
# net: write, plus the hosts that the owner allows. host: no box; needs approval each time.
Profile = Literal["read", "write", "net", "host"]
OPEN: Final = frozenset({"net", "host"})  # profiles in which untrusted commands may run


def profile_of(sandbox: Literal["auto", "none"], hosts: Sequence[str]) -> Profile:
    """Return the profile of a command with these settings, without probing the machine."""
    if sandbox == "none":
        return "host"
    return "net" if hosts else "write"


def python_parts(*prefixes: str) -> tuple[str, ...]:
    """Return the paths of a Python installation that our programs must be able to read."""
    parts = ("bin", "lib", "lib64", "pyvenv.cfg")
    return tuple(f"{prefix}/{part}" for prefix in dict.fromkeys(prefixes) for part in parts)


class BoxRequest(Struct, frozen=True, kw_only=True):
    """A request for a box around one command."""

    profile: Profile
    call: str  # id for the limits of the whole command
    workdir: str
    workspace: str = ""  # a workspace chosen by the owner, instead of the default
    note: str = ""  # a file outside that it may write to
    readable: tuple[str, ...] = ()  # further readable paths, such as its own program
    covered: tuple[str, ...] = ()  # files and folders of the workspace that look empty inside
    scratch: str = ""  # the folder that it sees as /tmp; "": one of its own that is gone with it
    pipes: tuple[str, ...] = ()  # named pipes outside that it may read and write


class Box(Struct, frozen=True, kw_only=True):
    """How to start one command inside the box."""

    arguments: tuple[str, ...] = ()  # before the command's own
    environment: Mapping[str, str]
    limits: str = ""  # shell code that a shell inside runs first
    groups: tuple[str, ...] = ()  # cgroup files to write 0 into before it enters the box
    workspace: str = ""  # the folder that it can fill
    disk_bytes: int = 0  # how much it may add there, checked by the wrapper; 0: unlimited
    scratch: str = ""  # its scratch place on the disk, if that is kept
    scratch_bytes: int = 0  # how large that may become, checked by the wrapper

    def around(self, command: Sequence[str]) -> list[str]:
        """Return the full argument list for a program that has no wrapper."""
        inner = [*self.arguments, *command]
        if self.limits:
            inner = [*self.arguments, "sh", "-c", f'{self.limits}; exec "$@"', "sh", *command]
        if not self.groups:
            return inner
        joined = [f"echo 0 >{quote(group)} || exit 125" for group in self.groups]
        return ["sh", "-c", f'{"; ".join(joined)}; exec "$@"', "sh", *inner]


class Guard(Struct, frozen=True, kw_only=True):
    """One protection, active or missing, for `hermes doctor`."""

    name: str
    active: bool
    by: str  # the mechanism, or why it is missing


class Sandbox(Protocol):
    def box(self, wish: BoxRequest, /) -> Box:
        """Return a box. Raise ToolFailed if this machine cannot build one: then nothing may run."""

    def keeps(self, folder: str, workspace: str, /) -> bool:
        """Return True if the folder's content persists from one command to the next."""

    def probe(self) -> tuple[Guard, ...]:
        """Return the active protections, found by trying them, not by version numbers."""
