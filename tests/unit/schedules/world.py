"""A gateway whose clock a test sets: real engine, real store, real scheduler, one chat platform."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hermes.agent.toolsets import CombinedToolset, StaticToolset
from hermes.app.engine import Parts, build, new_id
from hermes.core.channel import Manifest, ServiceHost
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.people import Role, Sender
from hermes.core.policy import Mode
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool
from hermes.core.principal import Principal
from hermes.core.store import Store
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted
from hermes.schedules.acts import HomeJobs
from hermes.schedules.channel import KeptAnswers
from hermes.schedules.due import DueRules
from hermes.schedules.rules import JobRules
from hermes.schedules.scheduler import Scheduler
from hermes.schedules.tool import cronjob_tool
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost
from hermes.views.jobs import JobAuthor, JobRequest, JobView, RunView

T0 = 1_800_000_000.0
HOUR = 3600.0
LIMIT_S = 60.0
ANNA = Address(platform="plaza", chat="anna")
BERT = Address(platform="plaza", chat="bert")
OWNER = JobAuthor(by="owner")
BY_ANNA = JobAuthor(
    by="plaza:anna",
    principal=Principal(person=Person(id="anna"), spoke=ANNA, direct=True),
    origin=ANNA,
)


class Plaza:
    """A platform that takes everything that it is sent."""

    manifest = Manifest(name="plaza", on_doubt="same_key")

    def __init__(self) -> None:
        self.sent: list[Reply] = []
        self.keys: set[str] = set()

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, _chunk: str, *, key: str) -> str:
        if key not in self.keys:
            self.keys.add(key)
            self.sent.append(reply)
        return key

    def to(self, address: Address) -> list[str]:
        return [reply.text for reply in self.sent if reply.address == address]


@dataclass(kw_only=True)
class World:
    home: Path
    store: Store
    gateway: Gateway
    plaza: Plaza
    acts: HomeJobs
    scheduler: Scheduler
    time: list[float]
    roles: dict[str, Role]
    asked: list[ModelRequest]
    rule: list[Callable[[ModelRequest], Answer]] = field(default_factory=list)

    def clock(self) -> float:
        return self.time[0]

    async def accept(self, inbound: Inbound) -> object:
        return await self.gateway.accept(inbound)

    @property
    def host(self) -> ServiceHost:
        gateway = self.gateway

        async def nothing(*_: object) -> None:
            return None

        made = FakeHost(
            accept=gateway.accept,
            role=gateway.trust_cache.latest,
            admit_stranger=nothing,  # type: ignore[arg-type]
            deliver=gateway.deliver,
            watch=gateway.hub.watch,
            state=lambda: "ready",
            status=gateway.status,
            connected=lambda: None,
            polled=lambda: None,
            describe=nothing,
            store=self.store,
            media=gateway.media,
            commands=(),
            new_id=new_id,
            clock=self.clock,
        )
        return cast("ServiceHost", made)

    async def make(self, schedule: str, author: JobAuthor = OWNER, **more: object) -> JobView:
        wanted = {"prompt": "Look.", **more}
        return await self.acts.create(self.host, JobRequest(schedule=schedule, **wanted), author)  # type: ignore[arg-type]

    async def look(self, at: float) -> None:
        """Let the clock stand there, and the scheduler look at it."""
        self.time[0] = at
        await self.scheduler.look(self.host)

    async def until(self, at: float) -> None:
        """Look then, and wait until everything that runs has come to its end or waits."""
        await self.look(at)
        await self.settle()

    async def settle(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            while tasks := [each.task for each in self.gateway.sessions.working() if each.task]:
                await asyncio.wait(tasks)
            for row in await self.store.jobs.jobs(limit=100, removed=True):
                await self.gateway.deliver(row.key)
            for chat in (ANNA, BERT):
                await self.gateway.deliver(chat_lane(chat))

    async def history(self, job: JobView) -> list[RunView]:
        return list(await self.acts.history(self.host, job.id, limit=100))

    async def states(self, job: JobView) -> list[str]:
        return [run.state for run in await self.history(job)][::-1]

    async def shown(self, job: JobView) -> JobView:
        return await self.acts.show(self.host, job.id)

    def said(self, text: str, address: Address = ANNA) -> Inbound:
        return Inbound(
            id=MessageId(new_id()),
            account="plaza",
            session=chat_lane(address),
            sender=Person(id=address.chat),
            address=address,
            text=text,
            at=self.clock(),
            place=address.chat,
        )


def calls(tool: str, arguments: str, then: str = "Done.") -> Callable[[ModelRequest], Answer]:
    """A model that makes this call, and then says that."""

    def rule(request: ModelRequest) -> Answer:
        if request.lines[-1].role == "tool":
            return Answer(text=then)
        return Answer(calls=(RawCall(tool, arguments),), finish="calls")

    return rule


def chat_lane(address: Address) -> SessionKey:
    return session_key(address.platform, "dm", address.chat)


@asynccontextmanager
async def world(
    folder: Path,
    rule: Callable[[ModelRequest], Answer] = lambda _request: Answer(text="All is well."),
    *,
    tools: Sequence[Tool] = (),
    mode: Mode = "ask",
    pause_after: int = 5,
    jobs_max: int = 8,
) -> AsyncIterator[World]:
    time, roles = [T0], dict[str, Role]()
    asked: list[ModelRequest] = []
    rules = [rule]
    store = await open_sqlite(folder / "hermes.db", clock=lambda: time[0])
    plaza = Plaza()
    acts = HomeJobs(JobRules(home=folder, zone="UTC", platforms=("plaza",), toolsets=("web",)))

    def answer(request: ModelRequest) -> Answer:
        asked.append(request)
        return rules[0](request)

    def role(sender: Sender) -> Role:
        return roles.get(sender.id, Role.OWNER)

    parts = Parts(
        store=store,
        provider=Scripted(answer),
        tools=CombinedToolset((StaticToolset(tools), StaticToolset((cronjob_tool(acts),)))),
        channels=[plaza, KeptAnswers(folder / "schedules")],
        media=FileMediaStore(folder / "media"),
        role=role,
        mode=mode,
        jobs_max=jobs_max,
        clock=lambda: time[0],
    )
    gateway = build(parts)
    scheduler = Scheduler(
        lambda: DueRules(scripts=folder / "scripts", pause_after=pause_after),
        monotonic=lambda: 0.0,
    )
    made = World(
        home=folder,
        store=store,
        gateway=gateway,
        plaza=plaza,
        acts=acts,
        scheduler=scheduler,
        time=time,
        roles=roles,
        asked=asked,
        rule=rules,
    )
    try:
        async with gateway.joined():
            yield made
            await made.settle()
    finally:
        await store.upkeep.close()
