"""The port of scripts that talk to us: their files, and the pipes on which they call tools.

A script is a detached command (`ports/terminal.py`). What it says and is told goes through two
named pipes in its folder, which the next process opens again under the same names.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from hermes.core.ids import CallId


class ScriptCall(Struct, frozen=True):
    """A call as a script says it."""

    id: int
    tool: str
    arguments: dict[str, object] = {}
    line: int = 0


class ScriptAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a script is told: a result, an error, that it must end, that another gateway reads."""

    id: int = 0
    ok: bool | None = None
    result: str | None = None
    error: str = ""
    limit: bool = False
    over: str = ""
    hello: str = ""


class ScriptFiles(Struct, frozen=True, kw_only=True):
    """What a Python needs to run a script: its arguments, and what it must see and write."""

    arguments: tuple[str, ...]
    readable: tuple[str, ...]
    pipes: tuple[str, ...]


class ScriptTalk(Protocol):
    """Our end of one script's pipes, in one process."""

    def taken(self) -> Sequence[ScriptCall]:
        """Return what the script has said since the last look."""

    async def news(self) -> None:
        """Wait until it has said something more."""

    def send(self, answer: ScriptAnswer) -> None:
        """Say it as soon as the script reads; nothing waits for that."""

    def close(self) -> None: ...


class ScriptFolders(Protocol):
    """The folders of scripts. All but `talk` may block: call them from a thread."""

    def prepare(self, call: CallId, code: str, functions: str, timeout_s: float) -> ScriptFiles:
        """Make the folder of a script, unless it is there."""

    def code(self, call: CallId) -> Sequence[str]:
        """Return the lines of a script; none when they are gone."""

    def timeout_s(self, call: CallId) -> float:
        """Return the time limit that was asked for; 0: none was."""

    def talk(self, call: CallId) -> ScriptTalk:
        """Open the pipes, and say hello: the script says again what still waits. Raise OSError when
        they are gone."""
