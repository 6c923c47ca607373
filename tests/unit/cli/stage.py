"""A console whose streams are texts, as terminals or as pipes."""

import io

from hermes.cli.output.console import Console
from hermes.cli.output.tables import table_lines


class Screen(io.StringIO):
    """A stream that is a terminal when it is told to be one."""

    def __init__(self, text: str = "", *, tty: bool = False) -> None:
        super().__init__(text)
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


class Stage(Console):
    """A console to look at afterwards."""

    stdout: Screen
    stderr: Screen


def stage(*, tty: bool = False, stdin: str = "", **environ: str) -> Stage:
    return Stage(
        stdin=Screen(stdin, tty=tty),
        stdout=Screen(tty=tty),
        stderr=Screen(tty=tty),
        environ={"TERM": "xterm", **environ},
        draw=table_lines,
    )
