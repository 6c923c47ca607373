"""hermes gateway setup as a program of its own."""

import os
import sys
import time

from hermes.cli import gateway_grammar
from hermes.cli.console import standard
from hermes.cli.place import Place
from hermes.cli.service.setup import run_setup
from hermes.cli.tables import draw
from hermes.settings import home_of

if __name__ == "__main__":
    environ = dict(os.environ)
    console = standard(environ, draw)
    place = Place(home=home_of(environ), environ=environ, console=console, clock=time.time)
    sys.exit(run_setup(gateway_grammar.SETUP.parse(sys.argv[1:]), place))
