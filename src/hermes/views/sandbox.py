"""The port of a box: what stands around a command so that it can do no harm, and what it proves.

A box is a prefix of arguments, an environment and limits; whoever starts a process asks for one
first. The wrapper of a detached command stays outside, so nothing inside can forge its status.
"""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Literal, Protocol

from msgspec import Struct

# read: the workspace cannot be changed. write: it can, but for files that run later.
# net: write, and the hosts that the owner allows. host: no box at all; asked about every time.
Profile = Literal["read", "write", "net", "host"]


def profile_of(sandbox: Literal["auto", "none"], hosts: Sequence[str]) -> Profile:
    """What a command gets by these settings, told without trying anything."""
    if sandbox == "none":
        return "host"
    return "net" if hosts else "write"


def python_parts(*prefixes: str) -> tuple[str, ...]:
    """What of an installed Python a program of ours needs to see."""
    parts = ("bin", "lib", "lib64", "pyvenv.cfg")
    return tuple(f"{prefix}/{part}" for prefix in dict.fromkeys(prefixes) for part in parts)


class Wish(Struct, frozen=True, kw_only=True):
    """What somebody wants to run in a box."""

    profile: Profile
    call: str  # names it, for the limits of the command as a whole
    workdir: str
    workspace: str = ""  # a folder of the owner's choice in place of the usual one
    note: str = ""  # a file outside that it may write to
    readable: tuple[str, ...] = ()  # more that it may read, such as its own program


class Box(Struct, frozen=True, kw_only=True):
    """How to start one command inside."""

    arguments: tuple[str, ...] = ()  # in front of the command's own
    environment: Mapping[str, str]
    limits: str = ""  # shell words that a shell inside says first
    groups: tuple[str, ...] = ()  # it joins these before it is boxed: files to write 0 into

    def around(self, command: Sequence[str]) -> list[str]:
        """For a program that is no detached shell: all of it in front, as arguments."""
        inner = [*self.arguments, *command]
        if self.limits:
            inner = [*self.arguments, "sh", "-c", f'{self.limits}; exec "$@"', "sh", *command]
        if not self.groups:
            return inner
        joined = [f"echo 0 >{quote(group)} || exit 125" for group in self.groups]
        return ["sh", "-c", f'{"; ".join(joined)}; exec "$@"', "sh", *inner]


class Guard(Struct, frozen=True, kw_only=True):
    """One thing that is guarded here, or is not, for `hermes doctor`."""

    name: str
    active: bool
    by: str  # what does it, or why it is missing


class Sandbox(Protocol):
    def box(self, wish: Wish, /) -> Box:
        """Raises ToolFailed when this machine cannot build it: nothing may run then."""

    def keeps(self, folder: str, workspace: str, /) -> bool:
        """Is what one command leaves in that folder there for the next one?"""

    def probe(self) -> tuple[Guard, ...]:
        """What is active, found out by trying, not by reading a version."""
