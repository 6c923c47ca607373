"""The one place of tools and terminals where a process begins; a box is asked for before this."""

import subprocess
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hermes.core.errors import ToolFailed

ASK_S_MAX = 10.0
ANSWER_CHARS_MAX = 10_000


class Answer(Struct, frozen=True):
    """How a small program ended, and what it printed; 127 when it could not begin."""

    code: int
    text: str


def detached(arguments: Sequence[str], *, workdir: str, environment: Mapping[str, str]) -> int:
    """Begin a program in a session of its own, without our files; returns its pid."""
    try:
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=workdir,
            env=environment,
            close_fds=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as refused:
        raise ToolFailed(f"The command could not be started: {refused}.") from refused
    child.returncode = 0  # the reaper waits for it by its pid; Popen need not mind it
    return child.pid


def asked(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Answer:
    """Run a small program of the system to its end."""
    try:
        ended = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=ASK_S_MAX,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as refused:
        return Answer(127, str(refused))
    text = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    return Answer(ended.returncode, text[:ANSWER_CHARS_MAX])


def printed(arguments: Sequence[str]) -> str:
    """What a small program prints, for machines without /proc."""
    return asked(arguments).text
