"""How this process stands at the moment: which platforms are here, and whether it is leaving.

The one mutable value behind a pure decision: it is read once, into a `Moment`.
"""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from hermes.core.budget import Ledger
from hermes.core.channel import ChannelStatus, GatewayState, Status
from hermes.core.ids import NodeId
from hermes.core.rules import Moment
from hermes.core.store import Counts


class Present(Struct):
    clock: Callable[[], float]
    version: str
    store: str  # which kind, for people
    node: NodeId
    state: GatewayState = "ready"
    absent: set[str] = field(default_factory=set)  # platforms that are not connected yet
    elsewhere: set[str] = field(default_factory=set)  # platforms that another node is connected to
    resumes: bool = True
    started_at: float = 0.0
    channels: Callable[[], tuple[ChannelStatus, ...]] = lambda: ()
    ledger: Callable[[], Ledger] = Ledger

    def __post_init__(self) -> None:
        self.started_at = self.clock()

    def moment(self, epoch: int) -> Moment:
        return Moment(
            at=self.clock(),
            epoch=epoch,
            draining=self.state == "draining",
            absent=frozenset(self.absent),
            resumes=self.resumes,
            ledger=self.ledger(),
        )

    def status(self, running: int, counts: Counts) -> Status:
        return Status(
            state=self.state,
            version=self.version,
            pid=os.getpid(),
            node=self.node,
            started_at=self.started_at,
            resumes=self.resumes,
            store=self.store,
            channels=self.channels(),
            running=running,
            counts=counts,
            memory_bytes=_resident_bytes(),
        )


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):  # no /proc here: the most that it ever was
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
