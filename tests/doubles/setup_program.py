"""`hermes gateway setup` as a separate program."""

import os
import sys
import time

from hermes.cli.context import CliContext
from hermes.cli.gateway.setup import COMMAND, run
from hermes.cli.output.console import standard
from hermes.cli.output.tables import table_lines
from hermes.settings import home_of

if __name__ == "__main__":
    environ = dict(os.environ)
    console = standard(environ, table_lines)
    context = CliContext(home=home_of(environ), environ=environ, console=console, clock=time.time)
    sys.exit(run(COMMAND.parse(sys.argv[1:]), context))
