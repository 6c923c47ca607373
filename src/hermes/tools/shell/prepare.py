"""Choose the text that runs without a question, and the sandbox profile for it.

A person who said yes saw a text, and that text runs. Without a question there is only our own
reading of the text: so our reading runs, in a sandbox in which a wrong reading does no harm.
"""

import shlex

from msgspec import Struct

from hermes.ports.sandbox import Profile
from hermes.tools.shell.git import ATTRIBUTES, quiet_git
from hermes.tools.shell.paths import CommandPlace, is_temporary
from hermes.tools.shell.private_files import private_files
from hermes.tools.shell.verdict import Judgement


class PreparedCommand(Struct, frozen=True, kw_only=True):
    """The text for a shell, and what its box is to be like."""

    command: str
    judged: bool = False  # it is our reading of a command that is safe
    profile: Profile = "write"
    covered: tuple[str, ...] = ()  # private files that it sees empty
    readable: tuple[str, ...] = ()  # more that it may read


def prepare_command(command: str, judged: Judgement, place: CommandPlace) -> PreparedCommand:
    """For a command without a yes of its own. May look at the disk."""
    if not judged.text:  # the owner allowed it once and for all: by a template, or by the mode
        return PreparedCommand(command=shlex.join(judged.argv) if judged.argv else command)
    text, readable = judged.text, tuple[str, ...]()
    lasting = [each for each in judged.overwrites if not _is_scratch(each.path, place)]
    if lasting:  # a file that appeared meanwhile is not overwritten either
        text = f"set -C\n{text}"
    if any(call.name == "git" for call in judged.invocations):
        text, readable = f"{quiet_git()}\n{text}", (str(ATTRIBUTES),)
    return PreparedCommand(
        command=text,
        judged=True,
        profile="read" if judged.reads else "write",
        covered=private_files(place.root),
        readable=readable,
    )


def _is_scratch(path: str, place: CommandPlace) -> bool:
    return bool(place.scratch) and is_temporary(path, place)
