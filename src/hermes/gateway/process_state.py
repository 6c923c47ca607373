"""The state of this process: which platforms are connected, and whether it is leaving.

It is the only mutable value behind a pure decision, and is read once, into a `DecisionContext`.
"""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from hermes.core.budget import SpentToday
from hermes.core.channel import ChannelStatus, GatewayState, GatewayStatus, ServiceStatus
from hermes.core.child_sessions import Crowd, crowd_entry
from hermes.core.ids import NodeId, SessionKey
from hermes.core.jobs import job_of
from hermes.core.rules import DecisionContext
from hermes.core.session import Session
from hermes.core.store import Counts
from hermes.core.trust import TrustRegister

FREE_BYTES_MIN = 1_000_000
UNSTORED_S = 30.0  # how long one message that could not be stored speaks for the next


class ProcessState(Struct):
    clock: Callable[[], float]
    version: str
    store: str  # which kind, for people
    node: NodeId
    phase: GatewayState = "ready"  # of its life; `state` says how it is
    absent: set[str] = field(default_factory=set)  # platforms that are not connected yet
    elsewhere: set[str] = field(default_factory=set)  # platforms that another node is connected to
    slots: set[SessionKey] = field(default_factory=set)  # jobs that run
    jobs_max: int = 8
    failing: dict[str, tuple[float, str]] = field(default_factory=dict)  # sends: since when, why
    resumes: bool = True
    started_at: float = 0.0
    channels: Callable[[], tuple[ChannelStatus, ...]] = lambda: ()
    register: Callable[[], TrustRegister] = TrustRegister
    services: Callable[[], tuple[ServiceStatus, ...]] = lambda: ()
    ledger: Callable[[], SpentToday] = SpentToday
    disk: Callable[[], str] = lambda: ""  # why nothing can be written there; "": it can
    children: dict[SessionKey, tuple[str, str]] = field(default_factory=dict)  # see `Crowd`
    queued: dict[SessionKey, None] = field(default_factory=dict)  # children without room yet
    _unstored: tuple[float, str] = (0.0, "")  # the last write of a message that failed: when, why

    def __post_init__(self) -> None:
        self.started_at = self.clock()

    @property
    def state(self) -> GatewayState:
        return "unwritable" if self.phase == "ready" and self.problem else self.phase

    @state.setter
    def state(self, phase: GatewayState) -> None:
        self.phase = phase

    @property
    def problem(self) -> str:
        """Why nothing can be stored, if so."""
        at, why = self._unstored
        return self.disk() or (why if self.clock() - at < UNSTORED_S else "")

    def note_write(self, problem: str) -> None:
        """Record why the latest message could not be stored; empty: it was stored."""
        self._unstored = self.clock(), problem

    def note_send(self, platform: str, problem: str) -> None:
        """Record that the latest send there failed; or, without a problem, that it arrived."""
        if not problem:
            self.failing.pop(platform, None)
            return
        since, _ = self.failing.get(platform, (self.clock(), ""))
        self.failing[platform] = since, problem

    def note_child(self, session: Session) -> None:
        """A child began to work, or does so no more."""
        entry = crowd_entry(session)
        if entry is not None:
            self.children[session.key] = entry
        else:
            self.children.pop(session.key, None)

    def take_slot(self, key: SessionKey) -> None:
        """Count a job's session among those that run, until `free_slot`."""
        if job_of(key):
            self.slots.add(key)

    def free_slot(self, key: SessionKey) -> bool:
        """Return True if another job may run now."""
        if key not in self.slots:
            return False
        self.slots.discard(key)
        return True

    def make_context(
        self, epoch: int, *, asked: bool = False, key: SessionKey | None = None
    ) -> DecisionContext:
        """Return what a decision may read: time, ownership, process state, people and grants."""
        return DecisionContext(
            at=self.clock(),
            epoch=epoch,
            draining=self.state == "draining",
            absent=frozenset(self.absent),
            resumes=self.resumes,
            asked=asked,
            register=self.register(),
            ledger=self.ledger(),
            crowd=Crowd(self.children),
            full=key not in self.slots and len(self.slots) >= self.jobs_max,
        )

    def status(self, running: int, counts: Counts) -> GatewayStatus:
        return GatewayStatus(
            state=self.state,
            version=self.version,
            pid=os.getpid(),
            node=self.node,
            started_at=self.started_at,
            resumes=self.resumes,
            store=self.store,
            channels=self.channels(),
            services=self.services(),
            running=running,
            counts=counts,
            memory_bytes=_resident_bytes(),
            problem=self.problem,
        )


def disk_problem(folder: Path) -> str:
    """Return why this folder cannot be written to; empty when it can."""
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        return f"{folder} cannot be used: {error.strerror}"
    if disk.f_flag & os.ST_RDONLY:
        return f"{folder}: the disk is read-only. Make it writable."
    free = (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail) * disk.f_frsize
    if disk.f_blocks and free < FREE_BYTES_MIN:
        return f"{folder}: the disk is full. Free some space; nothing was lost."
    return ""


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):  # no /proc here: the most that it ever was
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
