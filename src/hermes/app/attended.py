"""An engine for one person's chat, without a gateway. Part of the composition root."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import field

from hermes.core.channel import ChannelHost
from hermes.core.ids import SessionKey
from hermes.gateway.drain import Drain
from hermes.gateway.host import GatewayHost
from hermes.gateway.serve import Serving
from hermes.gateway.service import dispatch_family
from hermes.gateway.supervise import beside, keep_running

LOOK_S, GIVE_WAY_S = 5.0, 0.2  # between looks at sessions that others may have left
LEAVE_S = 3.0  # for a step that is under way when its person leaves


class AttendedHost(GatewayHost, kw_only=True):
    """Works on the sessions that a person has open, and leaves all others to other nodes."""

    looked_at: set[SessionKey] = field(default_factory=set)

    async def deliver(self, key: SessionKey) -> None:
        if key not in self.looked_at:
            self.looked_at.add(key)
            await self.engine.dispatch(key)
        await self.engine.deliver(key)

    async def look(self) -> None:
        engine = self.engine
        while True:
            await engine.store.nodes.wake(LOOK_S)
            await engine.look_after()
            for key in tuple(self.looked_at):
                active = engine.sessions.get(key)
                if active is None or active.session.children:
                    await dispatch_family(engine, key)  # its process may have left
            await asyncio.sleep(GIVE_WAY_S)


@asynccontextmanager
async def attended(here: Serving) -> AsyncIterator[ChannelHost]:
    """Run an engine for one person's chat. Open turns are marked at the end, and continue with the
    next one."""
    engine = here.engine
    host = AttendedHost(
        engine=engine, admission=here.admission, commands=here.commands, new_id=here.new_id
    )
    async with engine.joined(), beside(keep_running("look", host.look)):
        engine.process.state = "ready"
        try:
            yield host
        finally:
            await here.drain(Drain(reason="shutdown_timeout", limit_s=LEAVE_S))
