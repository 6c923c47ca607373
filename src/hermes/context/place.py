"""Where and when a conversation began, in a few lines."""

import os
import platform
from datetime import UTC, datetime

from msgspec import Struct

from hermes.text.quoting import ODD, name

WORDS_MAX = 6  # in the name of one folder; more is a text


class ContextFolder(Struct, frozen=True):
    text: str
    labels: tuple[str, ...]


def place(at: float, workdir: str, machine: str) -> ContextFolder:
    """A folder may be called anything, also by a stranger: it is quoted, and a name that is a text
    or hides something counts as theirs."""
    quoted = name(workdir)
    strange = ODD in quoted or any(len(part.split()) > WORDS_MAX for part in workdir.split("/"))
    day = datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d (UTC%z)")
    text = (
        f"Date when this was written: {day}. It may be later now.\n"
        f"Working directory: {quoted}\n"
        f"Machine: {machine}"
    )
    return ContextFolder(text, ("untrusted",) if strange else ())


def this_machine() -> str:
    """The system and the processor; nothing that says whose machine it is."""
    here = os.uname()
    try:
        system = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        system = ""
    kernel = f"{here.sysname} {here.release.partition('-')[0]}"
    return ", ".join(part for part in (system, kernel, here.machine) if part)
