"""What only some calls need, loaded with the first of them: shell grammar, pages of the web.

Most conversations run no command and read no page. Imports stand inside functions nowhere else in
the tools, but for the parser of shells.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from hermes.core.messages import Effect
from hermes.core.policy import Finding
from hermes.core.ports import Presented

if TYPE_CHECKING:
    from hermes.tools.reading import Reading
    from hermes.tools.shell_paths import Place


def effect_of_command(command: str) -> Effect:
    from hermes.tools.shell_effect import effect_of_command

    return effect_of_command(command)


def finding(command: str, place: "Place") -> Finding:
    """What the policy should know of a command."""
    from hermes.tools.shell_grants import template_of
    from hermes.tools.shell_verdict import judge

    found = judge(command, place)
    return Finding(verdict=found.verdict, template=template_of(found, place))


def presented(command: str, place: "Place") -> Presented:
    """What a person should see of a command who is asked about it."""
    from hermes.tools.shell_shown import shown
    from hermes.tools.shell_verdict import judge

    return shown(command, judge(command, place), Path(place.cwd))


def read_page(source: str, url: str) -> "Reading":
    from hermes.tools.reading import read_page

    return read_page(source, url)


def read_text(text: str) -> "Reading":
    from hermes.tools.reading import read_text

    return read_text(text)
