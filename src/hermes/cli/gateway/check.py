"""hermes gateway check: build everything that a gateway needs, open nothing, and exit.

A running gateway runs this before it restarts: a problem found here keeps the old one serving.
"""

import asyncio
import socket
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.gateway.service.lock import listens
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")

PASSIVE = socket.AI_PASSIVE
EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 (compared, not bound)


def run(_options: NoOptions, context: CliContext) -> int:
    settings = context.settings()
    own = listens(context.home)

    def held(host: str, port: int) -> bool:
        """Return True if the gateway running here holds the port; it releases it before the
        restart."""
        wanted = _addresses(host)
        theirs = [_addresses(each) for each, taken in own if taken == port]
        return any(wanted & each or EVERYWHERE & (wanted | each) for each in theirs)

    asyncio.run(app.preflight(context.home, settings, held))
    context.console.say("A gateway can start with these settings.")
    return DONE


def _addresses(host: str) -> set[str]:
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=PASSIVE)
    except OSError:
        return {host}
    return {str(address[0]) for *_, address in found}


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
    more="It builds everything that a gateway needs, and opens nothing. A restart does this first.",
)
