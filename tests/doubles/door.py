"""A gateway without a process of its own: real engine, real store, one channel at its door."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from hermes.core.channel import Channel, ChannelState, ChannelStatus, Door, Ear
from hermes.core.messages import Call, Media
from hermes.core.people import Role, Sender
from hermes.core.ports import Answer, Provider, Request, Tool
from hermes.core.rules import Allow, Verdict
from hermes.core.session import Session
from hermes.core.store import Store
from hermes.engine import Parts, build, commands_of, new_id
from hermes.gateway.porter import Porter, Strangers
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileShelf
from hermes.stores.sqlite import open_sqlite

START_S = 10.0

Rule = Callable[[Request], Answer]


class Platform(Channel, Ear, Protocol):
    """Both sides of a channel in one object."""


@dataclass(kw_only=True)
class House:
    """Everything that a test wants to look at."""

    gateway: Gateway
    store: Store
    door: Door
    listening: "asyncio.Task[None]"


def said(request: Request) -> str:
    """What the person said last."""
    return [line.text for line in request.lines if line.role == "user"][-1]


def echo(request: Request) -> Answer:
    return Answer(text=f"You said: {said(request)}")


async def _no_words(_media: Media) -> None:
    return None


@asynccontextmanager
async def house(
    home: Path,
    channel: Platform,
    provider: Provider | Rule = echo,
    *,
    tools: Sequence[Tool] = (),
    verdict: Callable[[Session, Call], Verdict] = lambda _session, _call: Allow(),
    role: Callable[[Sender], Role] = lambda _sender: Role.OWNER,
    strangers: Strangers = "invite",
) -> AsyncIterator[House]:
    """The channel listens, and what it accepts is worked on, until the block ends."""
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    parts = Parts(
        store=store,
        provider=provider if not callable(provider) else Scripted(provider),
        tools=tools,
        channels=[channel],
        media=FileShelf(home / "media"),
        role=role,
    )
    gateway = build(parts)
    planner = gateway.worker.planner
    rules = msgspec.structs.replace(planner.rules, verdict=verdict)
    planner = msgspec.structs.replace(planner, rules=rules)
    gateway.worker = msgspec.structs.replace(gateway.worker, planner=planner)
    connected = asyncio.Event()

    def channels() -> tuple[ChannelStatus, ...]:
        state: ChannelState = "connected" if connected.is_set() else "connecting"
        return (ChannelStatus(name=channel.manifest.name, state=state, since=1.0),)

    gateway.present.channels = channels
    door = _door(parts, gateway, strangers, connected.set)
    try:
        async with gateway.joined():
            await gateway.look_after()
            await gateway.claim_all()
            task = asyncio.create_task(channel.listen(door))
            try:
                await asyncio.wait_for(connected.wait(), START_S)
                yield House(gateway=gateway, store=store, door=door, listening=task)
            finally:
                task.cancel()
                await asyncio.wait({task})
                await _at_rest(gateway)
    finally:
        await store.upkeep.close()


def _door(
    parts: Parts, gateway: Gateway, strangers: Strangers, connected: Callable[[], None]
) -> Door:
    store = parts.store
    porter = Porter(
        standing=gateway.standing,
        strangers=strangers,
        homes=store.library.homes,
        accept=gateway.accept,
        new_id=new_id,
        clock=time.time,
    )
    return Door(
        accept=gateway.accept,
        role=gateway.standing.latest,
        knock=porter.knock,
        deliver=gateway.deliver,
        watch=gateway.hub.watch,
        state=lambda: gateway.present.state,
        status=gateway.status,
        connected=connected,
        polled=lambda: None,
        describe=_no_words,
        store=store,
        media=parts.media,
        commands=commands_of(parts),
        new_id=new_id,
        clock=time.time,
    )


async def _at_rest(gateway: Gateway) -> None:
    """Nothing is left running that would write to a closed store."""
    tasks = [lane.task for lane in gateway.lanes.working() if lane.task is not None]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
