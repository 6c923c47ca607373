"""What channels and services may ask of the engine: the class behind `ChannelHost`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager

from msgspec import Struct

from hermes.core.channel import Command, Considered, Feed, GatewayState, GatewayStatus
from hermes.core.errors import StoreBusy
from hermes.core.ids import SessionKey
from hermes.core.messages import Address, Inbound, Media
from hermes.core.people import Role, Sender
from hermes.core.principal import Audience
from hermes.core.store import Accepted, MediaStore, Store
from hermes.gateway.admission import Admission
from hermes.gateway.service import Gateway

Accept = Callable[[Inbound], Awaitable[Accepted]]


async def accept_within(accept: Accept, inbound: Inbound, limit_s: float) -> Accepted:
    """Accept a message, or raise StoreBusy when the store needs longer than the platform waits.

    The write goes on. When it succeeds after all, the platform's repeat finds the message in the
    inbox, so nothing is answered twice. A limit of 0 waits for as long as it takes.
    """
    if not limit_s:
        return await accept(inbound)
    writing = asyncio.ensure_future(accept(inbound))
    try:
        done, _ = await asyncio.wait({writing}, timeout=limit_s)
    except asyncio.CancelledError:
        writing.cancel()
        raise
    if done:
        return writing.result()
    writing.add_done_callback(_forget)
    raise StoreBusy(f"the message could not be stored within {limit_s:g} s")


def _forget(writing: "asyncio.Future[Accepted]") -> None:
    """Read the outcome that no caller waits for, so that asyncio does not warn about it."""
    if not writing.cancelled():
        writing.exception()


class GatewayHost(Struct, kw_only=True):
    """See `ChannelHost`. `noted` is called when the channel or the service works, `asked` when a
    platform was polled, and `heard` when a message was stored."""

    engine: Gateway
    admission: Admission
    commands: Sequence[Command]
    new_id: Callable[[], str]
    platform: str = ""
    ack_s: float = 0.0  # of the platform's manifest
    noted: Callable[[], None] = lambda: None
    asked: Callable[[], None] = lambda: None
    heard: Callable[[], None] = lambda: None

    @property
    def store(self) -> Store:
        return self.engine.store

    @property
    def media(self) -> MediaStore:
        return self.engine.media

    async def accept(self, inbound: Inbound) -> Accepted:
        accepted = await accept_within(self.engine.accept, inbound, self.ack_s)
        self.heard()
        return accepted

    async def role(self, sender: Sender) -> Role:
        return await self.engine.trust_cache.latest(sender)

    def patient(self, sender: Sender) -> bool:
        return self.engine.intake.measure.has_room(sender)

    async def admit_stranger(self, sender: Sender, name: str, text: str) -> str:
        return await self.admission.admit_stranger(sender, name, text)

    async def deliver(self, key: SessionKey) -> None:
        await self.engine.deliver(key)

    async def resume(self, key: SessionKey) -> None:
        await self.engine.resume(key)

    def watch(
        self, key: SessionKey | None, /, *, live: bool = True
    ) -> AbstractContextManager[Feed]:
        return self.engine.hub.watch(key, live=live)

    def state(self) -> GatewayState:
        return self.engine.state()

    async def cursor(self, account: str, name: str) -> str:
        return await self.store.cursors.cursor(self.platform, account, name)

    async def move_cursor(self, account: str, name: str, position: str) -> None:
        cursors, node = self.store.cursors, self.engine.node
        await cursors.move_cursor(self.platform, account, name, position, node=node)

    async def spare(self, address: Address, act: Callable[[], Awaitable[None]]) -> bool:
        return await self.engine.delivery.pace.spare(address, act)

    async def status(self) -> GatewayStatus:
        return await self.engine.status()

    async def describe(self, media: Media) -> Considered | None:
        return await self.engine.worker.agent.describe(media)

    async def hold(self, name: str) -> bool:
        return await self.store.nodes.hold(self.engine.node, name)

    def connected(self) -> None:
        self.noted()

    def polled(self) -> None:
        self.asked()

    def audience(self, platform: str, /) -> Audience:
        return self.engine.audience(platform)

    def clock(self) -> float:
        return self.engine.clock()
