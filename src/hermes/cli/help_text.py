"""The texts of --help: all commands, one family, and the short one for newcomers."""

from itertools import groupby

from hermes.cli.command import CommandEntry
from hermes.cli.registry import FAMILIES

WIDTH = 19
TITLE = "Hermes, your own AI agent. Its work survives crashes and restarts."
BEGIN = """\
Start:
  hermes                               chat; helps you choose a model first
  hermes -c                            continue the latest conversation
  hermes model                         choose a model: a key or any URL
  hermes setup                         model, commands, chats, service
  hermes chat -q "What can you do?"    one question, one answer

To try it without a key:
  hermes model --provider local        a small model on this computer
  HERMES_MODEL__PROVIDER=scripted hermes chat -q "run date"
"""
END = """\
More about a command: hermes COMMAND --help
Hermes keeps its data in ~/.hermes, or in HERMES_HOME if it is set.
Exit status: 0 done, 1 failed, 2 wrong usage, 75 try again, 78 configuration.
"""


def full() -> str:
    """Return the text of `hermes --help`."""
    parts = [f"{TITLE}\n\nUsage: hermes COMMAND [OPTION…]\n", BEGIN]
    for heading, families in groupby(FAMILIES.values(), lambda family: family.heading):
        lines = (_line(entry) for family in families for entry in family.entries)
        parts.append(f"{heading}:\n{''.join(lines)}")
    return "\n".join((*parts, END))


def short() -> str:
    """Return the text of `hermes` alone."""
    return f"{TITLE}\n\n{BEGIN}\nAll commands: hermes --help\n"


def family(name: str) -> str:
    """Return the text of, for example, `hermes sessions --help`."""
    lines = "".join(map(_line, FAMILIES[name].entries))
    alone = f"hermes {name} alone is the same as hermes {name} {FAMILIES[name].alone}."
    return f"Usage: hermes {name} COMMAND [OPTION…]\n\n{lines}\n{alone}\n"


def _line(entry: CommandEntry) -> str:
    return f"  {entry.name:<{WIDTH}}{entry.summary}\n"
