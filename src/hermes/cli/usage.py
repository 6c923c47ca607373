"""The texts of --help: all commands, one family of them, and the few lines for a newcomer."""

from itertools import groupby

from hermes.cli.command import Command
from hermes.cli.grammar import FAMILIES

WIDTH = 19
TITLE = "Hermes, an AI agent of your own. Its work survives crashes and restarts."
BEGIN = """\
Begin:
  hermes                               talk; without a model it offers one
  hermes -c                            go on with the conversation used last
  hermes model                         who answers: a key or any URL
  hermes setup                         model, commands, chats, service
  hermes chat -q "What can you do?"    one question, one answer

Without a key, to look around:
  hermes model --provider local        a small model on this computer
  HERMES_MODEL__PROVIDER=scripted hermes chat -q "run date"
"""
END = """\
More about one: hermes COMMAND --help. Everything is kept in ~/.hermes or, when
it is set, HERMES_HOME. Exit status: 0 done, 1 failed, 2 wrong usage,
75 try again, 78 configuration.
"""


def full() -> str:
    """For `hermes --help`."""
    parts = [f"{TITLE}\n\nUsage: hermes COMMAND [OPTION…]\n", BEGIN]
    for heading, families in groupby(FAMILIES.values(), lambda family: family.heading):
        lines = (_line(command) for family in families for command in family.load())
        parts.append(f"{heading}:\n{''.join(lines)}")
    return "\n".join((*parts, END))


def short() -> str:
    """For `hermes` alone."""
    return f"{TITLE}\n\n{BEGIN}\nAll commands: hermes --help\n"


def family(name: str) -> str:
    """For `hermes sessions --help`."""
    lines = "".join(map(_line, FAMILIES[name].load()))
    alone = f"hermes {name} alone is the same as hermes {name} {FAMILIES[name].alone}."
    return f"Usage: hermes {name} COMMAND [OPTION…]\n\n{lines}\n{alone}\n"


def _line(command: Command[object]) -> str:
    return f"  {command.name:<{WIDTH}}{command.summary}\n"
