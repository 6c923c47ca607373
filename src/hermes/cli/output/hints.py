"""Name the program in hints as it was called: `./hermes model` until `hermes` is on the PATH.

Our sentences are written with `hermes`, and the console inserts the right name, so that no sentence
has to know it. Text of others (answers, files) does not pass here.
"""

import os
import re
from collections.abc import Mapping

from hermes.cli.registry import FAMILIES
from hermes.installed import program_name


def as_called(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Replace `hermes` before a command or an option, and where it stands alone in a table."""
    if "hermes" not in text:
        return text
    name = program_name(environ)
    if name == "hermes":
        return text
    commands = "|".join((*FAMILIES, "help", "COMMAND"))
    return re.sub(rf"(?<![\w./~-])hermes(?= (?:(?:{commands})\b| |-))", lambda _: name, text)
