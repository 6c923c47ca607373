"""Run each channel's receiver in a loop of its own, and know its state.

A receiver that loses its connection is restarted with a growing delay; the others continue. A
receiver with a wrong setting (a token, a port in use) ends the process while it starts.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.core.channel import ChannelState, ChannelStatus, Receiver
from hermes.core.errors import ChannelDown, Misconfigured
from hermes.core.ids import NodeId
from hermes.core.store import Nodes
from hermes.gateway.host import GatewayHost
from hermes.gateway.process_state import ProcessState
from hermes.gateway.supervise import all_set, naming

HOLD_S = 2.0  # between two tries to get a connection that another node has
PAUSE_S, PAUSE_S_MAX = 1.0, 60.0
WRONG_S = 300.0  # between two tries with a setting that was right once

log = logging.getLogger("hermes.gateway")


def _down(why: str) -> ChannelDown:
    return ChannelDown(f"listening broke: {why}", delay_s=PAUSE_S)


class ReceiverState(Struct):
    """One receiver, and the state of its connection."""

    receiver: Receiver
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
        return self.receiver.manifest.name

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


class Receivers(Struct, kw_only=True):
    receivers: Sequence[Receiver]
    process: ProcessState
    nodes: Nodes
    node: NodeId
    posts: tuple[ReceiverState, ...] = ()

    def __post_init__(self) -> None:
        self.posts = tuple(
            ReceiverState(receiver, self.process.clock) for receiver in self.receivers
        )
        self.process.absent |= {post.name for post in self.posts}
        self.process.channels = lambda: tuple(self._status(post) for post in self.posts)

    def _status(self, post: ReceiverState) -> ChannelStatus:
        """Return the channel's status. A channel that receives but cannot send is failing."""
        failing = self.process.failing.get(post.name)
        if failing is None or post.state != "connected":
            return post.status
        since, problem = failing
        return replace(post.status, state="failing", since=since, problem=problem)

    async def listen(
        self, post: ReceiverState, host: GatewayHost, came: Callable[[str], None]
    ) -> None:
        """Keep one receiver listening. `came` is called whenever its platform is there again; the
        platform is absent until whoever hears that says otherwise."""
        pause_s = PAUSE_S
        while True:
            await self._hold(post, came)
            began = self.process.clock()
            try:
                with naming(f"{post.name}: listening", _down):
                    return await post.receiver.listen(self._noted(host, post, came))
            except ChannelDown as down:
                pause_s = PAUSE_S if self.process.clock() - began > PAUSE_S_MAX else pause_s
                wait_s, why = max(down.delay_s, pause_s), str(down)
                pause_s = min(pause_s * 2, PAUSE_S_MAX)
            except Misconfigured as wrong:
                if not post.was_connected:
                    raise
                wait_s, why = WRONG_S, str(wrong)
            log.warning("%s is down, next try in %.0f s: %s", post.name, wait_s, why)
            self.process.absent.add(post.name)
            post.becomes("down", why)
            await asyncio.sleep(wait_s)

    async def attempted(self, limit_s: float) -> None:
        """Wait until every receiver is connected, is down, or knows that another node has its
        connection."""
        await all_set([each.tried for each in self.posts], limit_s)

    async def _hold(self, post: ReceiverState, came: Callable[[str], None]) -> None:
        name = f"channel:{post.name}"
        while post.receiver.manifest.single and not await self.nodes.hold(self.node, name):
            if post.name not in self.process.elsewhere:
                post.becomes("waiting")
                self.process.elsewhere.add(post.name)
                came(post.name)  # the turns of its chats may go on here; their replies go out there
            await asyncio.sleep(HOLD_S)
        self.process.elsewhere.discard(post.name)
        if post.state != "down":
            post.becomes("connecting")

    def _noted(
        self, host: GatewayHost, post: ReceiverState, came: Callable[[str], None]
    ) -> GatewayHost:
        """Return the same host, which also records what happens on this channel."""
        clock = self.process.clock

        def heard() -> None:
            post.last_inbound_at = clock()

        def connected() -> None:
            post.was_connected = True
            post.becomes("connected")
            if post.name in self.process.absent:
                came(post.name)

        def polled() -> None:
            post.last_poll_at = clock()

        ack_s = post.receiver.manifest.ack_s
        return replace(
            host, platform=post.name, ack_s=ack_s, heard=heard, noted=connected, asked=polled
        )
