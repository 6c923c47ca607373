"""Gather the files that would lose their content: that is asked about as deleting is.

Judging only gathers the paths. Whether something is there already is seen by `check.py`.
"""

from msgspec import Struct

from hermes.core.grants import is_beneath
from hermes.tools.shell.paths import absolute
from hermes.tools.shell.reasons import Reasons
from hermes.tools.shell.words import Invocation

TWICE = "it writes the same file twice, and what was there first would be lost"
EMPTIES = "it empties a file"
# What they print is nothing.
SILENT = frozenset({":", "true", "false", "cd", "read", "test"})
NO_TEXT: tuple[list[str], ...] = ([], [""], ["-n"], ["-n", ""])


class Overwrite(Struct, frozen=True):
    """A path whose content would be replaced. `any_kind`: a folder there would lose something."""

    path: str
    any_kind: bool = False


class Overwrites:
    """The overwritten files of one command line."""

    def __init__(self, reasons: Reasons) -> None:
        self.found: list[Overwrite] = []
        self._reasons = reasons
        self._brought: list[str] = []  # whole trees that came from elsewhere within this command

    def add(self, path: str, cwds: list[str], *, loops: int, any_kind: bool = False) -> None:
        """`loops`: so many are around it, and each round writes again."""
        for cwd in cwds:
            full = absolute(path, cwd)
            again = any(each.path == full for each in self.found)
            if again or loops or any(is_beneath(full, tree) for tree in self._brought):
                self._reasons.ask(TWICE)
            self.found.append(Overwrite(full, any_kind))

    def bring(self, path: str, cwds: list[str]) -> None:
        """Files may be below this path from now on that nobody could see before."""
        self._brought += [absolute(path, cwd) for cwd in cwds]


def prints_nothing(call: Invocation) -> bool:
    """Would its output leave a file empty?"""
    if call.name in SILENT:
        return True
    if call.name == "cat":
        return call.literal == ["/dev/null"]
    return call.name in ("echo", "printf") and call.literal in NO_TEXT
