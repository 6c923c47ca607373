"""The receiving side: each channel's ear in a loop of its own, and what is known of each.

An ear that loses its connection is begun anew, each time a little later; the others do not notice.
One that cannot be right (a wrong token, a port in use) ends the process while it starts, loudly.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.core.channel import ChannelState, ChannelStatus, Door, Ear
from hermes.core.errors import ChannelDown, Misconfigured
from hermes.core.ids import NodeId
from hermes.core.messages import Inbound
from hermes.core.store import Accepted, Nodes
from hermes.gateway.present import Present

HOLD_S = 2.0  # between two tries to get a connection that another node has
PAUSE_S, PAUSE_S_MAX = 1.0, 60.0
WRONG_S = 300.0  # between two tries with a setting that was right once

log = logging.getLogger("hermes.gateway")


class Post(Struct):
    """One ear, and how it stands."""

    ear: Ear
    clock: Callable[[], float]
    state: ChannelState = "connecting"
    since: float = 0.0
    problem: str = ""
    last_inbound_at: float | None = None
    last_poll_at: float | None = None
    was_connected: bool = False
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        return self.ear.manifest.name

    def becomes(self, state: ChannelState, problem: str = "") -> None:
        if state != self.state or not self.since:
            self.since = self.clock()
        self.state, self.problem = state, problem
        if state != "connecting":
            self.tried.set()

    @property
    def status(self) -> ChannelStatus:
        return ChannelStatus(
            name=self.name,
            state=self.state,
            since=self.since,
            last_inbound_at=self.last_inbound_at,
            last_poll_at=self.last_poll_at,
            problem=self.problem,
        )


class Hearing(Struct, kw_only=True):
    ears: Sequence[Ear]
    present: Present
    nodes: Nodes
    node: NodeId
    posts: tuple[Post, ...] = ()

    def __post_init__(self) -> None:
        self.posts = tuple(Post(ear, self.present.clock) for ear in self.ears)
        self.present.absent |= {post.name for post in self.posts}
        self.present.channels = lambda: tuple(post.status for post in self.posts)

    async def listen(self, post: Post, door: Door, came: Callable[[str], None]) -> None:
        """Keep one ear listening. `came` is called whenever its platform is there again; the
        platform is absent until whoever hears that says otherwise."""
        pause_s = PAUSE_S
        while True:
            await self._hold(post, came)
            began = self.present.clock()
            try:
                return await post.ear.listen(self._noted(door, post, came))
            except ChannelDown as down:
                pause_s = PAUSE_S if self.present.clock() - began > PAUSE_S_MAX else pause_s
                wait_s, why = max(down.delay_s, pause_s), str(down)
                pause_s = min(pause_s * 2, PAUSE_S_MAX)
            except Misconfigured as wrong:
                if not post.was_connected:
                    raise
                wait_s, why = WRONG_S, str(wrong)
            log.warning("%s is down, next try in %.0f s: %s", post.name, wait_s, why)
            self.present.absent.add(post.name)
            post.becomes("down", why)
            await asyncio.sleep(wait_s)

    async def attempted(self, limit_s: float) -> None:
        """Until every ear is connected, down, or knows that another node has its place."""
        waits = [asyncio.create_task(post.tried.wait()) for post in self.posts]
        if waits:
            _, late = await asyncio.wait(waits, timeout=limit_s)
            for wait in late:
                wait.cancel()

    async def _hold(self, post: Post, came: Callable[[str], None]) -> None:
        name = f"channel:{post.name}"
        while post.ear.manifest.single and not await self.nodes.hold(self.node, name):
            if post.name not in self.present.elsewhere:
                post.becomes("waiting")
                self.present.elsewhere.add(post.name)
                came(post.name)  # the turns of its chats may go on here; their replies go out there
            await asyncio.sleep(HOLD_S)
        self.present.elsewhere.discard(post.name)
        if post.state != "down":
            post.becomes("connecting")

    def _noted(self, door: Door, post: Post, came: Callable[[str], None]) -> Door:
        """The door, with a look at the clock whenever something happens at it."""
        clock = self.present.clock

        async def accept(inbound: Inbound) -> Accepted:
            accepted = await door.accept(inbound)
            post.last_inbound_at = clock()
            return accepted

        def connected() -> None:
            post.was_connected = True
            post.becomes("connected")
            if post.name in self.present.absent:
                came(post.name)

        def polled() -> None:
            post.last_poll_at = clock()

        return replace(door, accept=accept, connected=connected, polled=polled)
