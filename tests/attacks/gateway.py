"""A gateway of its own that launches one command in a box and waits, until it is killed."""

import asyncio
import os
import sys
from pathlib import Path

from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch
from hermes.terminals.local import LocalTerminal
from tests.attacks.victim import Victim, sandbox_of


async def main(kind: str, home: str, command: str) -> None:
    victim, call = Victim(Path(home)), CallId("turn-1")
    sandbox = sandbox_of(kind, victim)
    terminal = LocalTerminal(victim.ours / "calls", environ=os.environ, sandbox=sandbox)
    workdir = str(victim.workspace)
    wanted = CommandLaunch(
        id=call, session=SessionKey("s"), command=command, workdir=workdir, timeout_s=60
    )
    await terminal.launch(wanted)
    await terminal.wait(call, 60)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
