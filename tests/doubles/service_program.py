"""The service commands as a separate program, acting on the fake gateway."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from hermes.cli.context import CliContext
from hermes.cli.errors import status_of
from hermes.cli.gateway.restart import restart
from hermes.cli.gateway.service.installing import install, uninstall
from hermes.cli.gateway.service.service import ServiceContext, ServicePatience
from hermes.cli.gateway.start import start
from hermes.cli.gateway.stop import stop
from hermes.cli.output.console import Console, standard
from hermes.cli.output.tables import table_lines
from hermes.core.errors import HermesError
from hermes.settings import home_of

GATEWAY = (sys.executable, "-IS", str(Path(__file__).with_name("fake_gateway.py")))


def main(words: list[str], environ: Mapping[str, str], console: Console) -> int:
    try:
        return obey(words, ground_of(environ, console))
    except HermesError as error:
        console.stderr.write(f"hermes: {error}\n")
        return status_of(error)


def obey(words: list[str], ground: ServiceContext) -> int:
    match words:
        case ["start"]:
            return start(ground)
        case ["restart"]:
            return restart(ground)
        case ["install"]:
            return install(ground)
        case ["uninstall"]:
            return uninstall(ground)
        case _:
            return stop(ground, force=words == ["stop", "--force"])


def ground_of(environ: Mapping[str, str], console: Console) -> ServiceContext:
    """Return a context with short waits; a file `not-ready` in the home keeps the gateway
    unready."""
    home = home_of(environ)
    patience = ServicePatience(
        ready_s=float(environ.get("FAKE_READY_S", "30")),
        stop_s=0.5,
        hurry_s=0.2,
        force_s=float(environ.get("FAKE_FORCE_S", "0.5")),
    )
    return ServiceContext(
        context=CliContext(home=home, environ=environ, console=console, clock=time.time),
        command=GATEWAY,
        ready=lambda: not (home / "not-ready").exists(),
        platform=environ.get("FAKE_PLATFORM", sys.platform),
        patience=patience,
    )


if __name__ == "__main__":
    surroundings = dict(os.environ)
    sys.exit(main(sys.argv[1:], surroundings, standard(surroundings, table_lines)))
