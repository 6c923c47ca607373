"""What is to be known of one command before it runs: for the policy, the card and the sandbox.

The grammar of shells stands behind it, which most conversations do not need: it is imported lazily.
"""

from pathlib import Path

from msgspec.structs import replace

from hermes.core.policy import Finding
from hermes.core.ports import Presented
from hermes.tools.shell.check import check_command
from hermes.tools.shell.effect import effect_of_command
from hermes.tools.shell.grants import template_of
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.prepare import PreparedCommand, prepare_command
from hermes.tools.shell.present import present_command
from hermes.tools.shell.typed_input import input_finding, input_presented
from hermes.tools.shell.verdict import judge

__all__ = [
    "effect_of_command",
    "finding",
    "input_finding",
    "input_presented",
    "prepared",
    "presented",
]


def finding(command: str, place: CommandPlace) -> Finding:
    """Return what the policy should know of a command."""
    found = check_command(command, place)
    return Finding(verdict=found.verdict, template=template_of(found, place))


def prepared(command: str, place: CommandPlace, root: str) -> PreparedCommand:
    """Return what runs of a command without a question, and in which sandbox."""
    return prepare_command(command, check_command(command, place), replace(place, root=root))


def presented(command: str, place: CommandPlace) -> Presented:
    """Return what a person should see of a command before allowing it."""
    return present_command(command, judge(command, place), Path(place.cwd))
