"""A gateway inside the test process: real engine, real store, one channel."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import msgspec
from msgspec import Struct

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build, commands_of, new_id
from hermes.core.channel import Channel, ChannelHost, ChannelState, ChannelStatus, Receiver, Screen
from hermes.core.messages import Media
from hermes.core.people import Role, Sender
from hermes.core.ports import Answer, ModelRequest, Provider, Tool
from hermes.core.rules import Allow, Judge
from hermes.core.store import Store
from hermes.gateway.admission import Admission, Strangers
from hermes.gateway.host import accept_within
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost

START_S = 10.0

Rule = Callable[[ModelRequest], Answer]


class Platform(Channel, Receiver, Protocol):
    """Both sides of a channel in one object."""


class Wiring(Struct, frozen=True, kw_only=True):
    """What few tests want otherwise. `change` gives the channel another host; `ack_s` shortens how
    long a platform waits for its acknowledgement, if it waits only so long."""

    strangers: Strangers = "invite"
    screens: Mapping[str, Screen] = {}
    change: Callable[[FakeHost], FakeHost] = lambda host: host
    ack_s: float = 0.0


USUAL = Wiring()


@dataclass(kw_only=True)
class House:
    """The parts that a test inspects."""

    gateway: Gateway
    store: Store
    door: FakeHost
    listening: "asyncio.Task[None]"


def said(request: ModelRequest) -> str:
    """Return the text of the person's last message."""
    return [line.text for line in request.lines if line.role == "user"][-1]


def echo(request: ModelRequest) -> Answer:
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
    verdict: Judge = lambda _session, _call, _moment: Allow(),
    role: Callable[[Sender], Role] = lambda _sender: Role.OWNER,
    wiring: Wiring = USUAL,
) -> AsyncIterator[House]:
    """Run the channel and process what it accepts until the block ends."""
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    parts = Parts(
        store=store,
        provider=provider if not callable(provider) else Scripted(provider),
        tools=StaticToolset(tools),
        channels=[channel],
        media=FileMediaStore(home / "media"),
        role=role,
        screens=wiring.screens,
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

    gateway.process.channels = channels
    door = wiring.change(_door(parts, gateway, wiring.strangers, connected.set))
    if ack_s := channel.manifest.ack_s:
        limit_s = wiring.ack_s or ack_s
        accept = partial(accept_within, door.accept, limit_s=limit_s)
        door = msgspec.structs.replace(door, accept=accept)
    try:
        async with gateway.joined():
            await gateway.look_after()
            await gateway.claim_all()
            task = asyncio.create_task(channel.listen(cast("ChannelHost", door)))
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
) -> FakeHost:
    store, platform = parts.store, parts.channels[0].manifest.name
    admission = Admission(
        trust_cache=gateway.trust_cache,
        strangers=strangers,
        homes=store.library.homes,
        accept=gateway.accept,
        new_id=new_id,
        clock=time.time,
    )
    return FakeHost(
        accept=gateway.accept,
        role=gateway.trust_cache.latest,
        admit_stranger=admission.admit_stranger,
        deliver=gateway.deliver,
        watch=gateway.hub.watch,
        state=lambda: gateway.process.state,
        status=gateway.status,
        connected=connected,
        polled=lambda: None,
        describe=_no_words,
        store=store,
        media=parts.media,
        commands=commands_of(parts),
        new_id=new_id,
        clock=time.time,
        audience=gateway.audience,
        cursor=partial(store.cursors.cursor, platform),
        move_cursor=partial(store.cursors.move_cursor, platform, node=gateway.process.node),
    )


async def _at_rest(gateway: Gateway) -> None:
    """Wait until nothing runs that would write to a closed store."""
    tasks = [lane.task for lane in gateway.sessions.working() if lane.task is not None]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
