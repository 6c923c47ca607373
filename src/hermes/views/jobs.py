"""Jobs as people, models and programs see them, and what can be done to them.

The acts are one port: the terminal, the chat command, the tool and the HTTP interface all call it,
so that a job is checked, read back and refused in the same way everywhere.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.jobs import Missed, Overlap
from hermes.core.messages import Inbound
from hermes.core.principal import PROCESS, Address, Principal, Role
from hermes.core.store import Accepted, Store

RunState = Literal["done", "silent", "failed", "skipped", "late", "waiting", "running", "stopped"]
ShownState = Literal["active", "paused", "removed", "done"]


class JobHost(Protocol):
    """What an act needs of the process that it happens in. Commands, tools and channels have it."""

    @property
    def store(self) -> Store: ...

    async def accept(self, inbound: Inbound, /) -> Accepted: ...

    def clock(self) -> float: ...


class JobAuthor(Struct, frozen=True, kw_only=True):
    """Who makes or changes a job: with which rights, from where, after reading what.

    `token` names the act: the same token makes the same job once, however often it is tried.
    `automatic`: a job's own turn does it, which may only pause or remove that very job."""

    by: str
    principal: Principal = PROCESS
    origin: Address | None = None
    role: Role = Role.OWNER  # the owner changes every job, other people those that they made
    labels: tuple[str, ...] = ()
    token: str = ""
    automatic: str = ""  # the id of the job whose turn it is

    def may_touch(self, creator: str) -> bool:
        return self.role is Role.OWNER or creator == self.by


class JobRequest(Struct, frozen=True, kw_only=True):
    """What is wanted. None: as it is, or the usual."""

    schedule: str | None = None
    prompt: str | None = None
    name: str | None = None
    deliver: tuple[str, ...] | None = None
    tz: str | None = None
    model: str | None = None
    skills: tuple[str, ...] | None = None
    toolsets: tuple[str, ...] | None = None
    workdir: str | None = None
    script: str | None = None
    no_agent: bool | None = None
    context_from: tuple[str, ...] | None = None
    attach: bool | None = None
    repeat: int | None = None
    missed: Missed | None = None
    overlap: Overlap | None = None
    tokens_max: int | None = None
    timeout_s: float | None = None


class JobView(Struct, frozen=True, kw_only=True):
    """A job for a listing. `next` are its next due times; `kind` is `system` for what Hermes does
    by itself and only shows here."""

    id: str
    name: str
    schedule: str
    words: str
    next: tuple[float, ...] = ()
    state: ShownState = "active"
    why: str = ""
    zone: str = ""
    prompt: str = ""
    deliver: tuple[str, ...] = ()
    model: str = ""
    skills: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    workdir: str = ""
    script: str = ""
    no_agent: bool = False
    context_from: tuple[str, ...] = ()
    repeat: int = 0
    missed: str = ""
    overlap: str = ""
    budget: int = 0
    timeout_s: float = 0.0
    creator: str = ""
    by: str = ""
    created_at: float = 0.0
    changed_at: float = 0.0
    version: int = 0
    kind: Literal["job", "system"] = "job"


class RunTarget(Struct, frozen=True):
    """Where an answer went, or is going to go."""

    to: str
    state: str


class RunView(Struct, frozen=True, kw_only=True):
    """One run, or the occurrences that were skipped for one reason. `due` is None for a run that a
    person asked for."""

    due: float | None
    began: float | None = None
    ended: float | None = None
    state: RunState = "running"
    turn: str = ""
    why: str = ""
    delivered: bool = False
    targets: tuple[RunTarget, ...] = ()
    count: int = 1  # of the occurrences that were skipped


class JobActs(Protocol):
    """What can be done to jobs. Every method raises Rejected with a sentence that names the fix."""

    async def preview(self, host: JobHost, wanted: JobRequest, author: JobAuthor) -> JobView:
        """Check it as `create` does, and make nothing."""

    async def create(
        self, host: JobHost, wanted: JobRequest, author: JobAuthor, *, paused: str = ""
    ) -> JobView:
        """`paused` says why it is not to run yet: it was imported, say."""

    async def edit(
        self,
        host: JobHost,
        name: str,
        wanted: JobRequest,
        author: JobAuthor,
        *,
        version: int | None = None,
        dry_run: bool = False,
    ) -> JobView:
        """Refused when the job has another version than the one that its author saw."""

    async def pause(
        self, host: JobHost, name: str, author: JobAuthor, why: str = ""
    ) -> JobView: ...

    async def resume(self, host: JobHost, name: str, author: JobAuthor) -> JobView: ...

    async def remove(self, host: JobHost, name: str, author: JobAuthor) -> JobView: ...

    async def run(self, host: JobHost, name: str, author: JobAuthor) -> str:
        """Enqueue a run now, durably, and return the id of its message."""

    async def listed(self, host: JobHost, *, every: bool = False) -> Sequence[JobView]:
        """Those that run, are paused, or were done in the last 30 days; with `every`, all."""

    async def show(self, host: JobHost, name: str) -> JobView:
        """Find a job by its id, its name, or the beginning of its id."""

    async def history(self, host: JobHost, name: str, *, limit: int = 20) -> Sequence[RunView]:
        """Return the latest runs and skips, newest first."""

    async def upcoming(self, host: JobHost, name: str, *, limit: int = 10) -> Sequence[float]:
        """Return the next due times. Nothing moves by looking."""
