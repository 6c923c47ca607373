"""What is to be known of one command before it runs: for the policy, the card and the sandbox.

The grammar of shells stands behind it, which most conversations do not need: it is imported lazily.
"""

from pathlib import Path

from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.core.policy import Finding
from hermes.core.ports import Presented
from hermes.tools.shell.boxed_code import code_template
from hermes.tools.shell.check import check_command
from hermes.tools.shell.effect import effect_of_command
from hermes.tools.shell.grants import template_of
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.prepare import PreparedCommand, prepare_command
from hermes.tools.shell.present import present_command
from hermes.tools.shell.private_files import private_files
from hermes.tools.shell.typed_input import input_finding, input_presented
from hermes.tools.shell.verdict import judge

__all__ = [
    "effect_of_command",
    "finding",
    "input_finding",
    "input_presented",
    "prepared",
    "prepared_code",
    "presented",
]


def finding(command: str, place: CommandPlace, root: str) -> Finding:
    """Return what the policy should know of a command. `root` is the folder that it can change."""
    found = check_command(command, place)
    code = code_template(place, root) if found.boxed else None
    return Finding(verdict=found.verdict, template=template_of(found, place), code=code)


def prepared_code(command: str, place: CommandPlace, root: str) -> PreparedCommand:
    """Return what runs of a command that was allowed for a whole folder: its own text, in a box
    that hides private files. Raise ToolFailed if it is another command than was judged."""
    if not check_command(command, place).boxed:
        raise ToolFailed("This is not code of that folder. Nothing was run.")
    return PreparedCommand(command=command, covered=private_files(root))


def prepared(command: str, place: CommandPlace, root: str) -> PreparedCommand:
    """Return what runs of a command without a question, and in which sandbox."""
    return prepare_command(command, check_command(command, place), replace(place, root=root))


def presented(command: str, place: CommandPlace) -> Presented:
    """Return what a person should see of a command before allowing it."""
    return present_command(command, judge(command, place), Path(place.cwd))
