"""The long-running process: loops that run in parallel until it is asked to leave.

Start: join, receive, send what is left over, resume what was interrupted. End: mark, drain, send
the last messages, leave. A loop that fails is restarted, or ends the process.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial

from msgspec import Struct, field

from hermes.core.channel import Command, Manifest
from hermes.core.errors import StoreFailed
from hermes.core.events import RestartAsked
from hermes.core.messages import Address
from hermes.core.projection import replies_of
from hermes.core.signals import Recorded, Signal
from hermes.gateway.admission import Admission
from hermes.gateway.boot import BOOTS_LOOKED_AT, boot_message, is_storm
from hermes.gateway.delivery import Flushed
from hermes.gateway.drafts import Drafts
from hermes.gateway.drain import Drain, Leaving, ended, interrupt
from hermes.gateway.host import GatewayHost
from hermes.gateway.receivers import Receivers
from hermes.gateway.service import CLAIMS_MAX, Gateway
from hermes.gateway.services import Services
from hermes.gateway.session_cache import ActiveSession
from hermes.gateway.supervise import beside, cancelled, caught_up, keep_running
from hermes.gateway.undeliverable import undeliverable_message

GIVE_WAY_S = 0.2
WAKE_S = 5.0
FIRST_TRY_S = 10.0  # how long a start waits for channels before it goes on without them
SWEEP_S = 5.0  # how long old replies may hold up the resuming of turns
LAST_WORDS_S = 5.0
SENDS_END_S = 10.0  # how long a message that is on its way may take to arrive

log = logging.getLogger("hermes.gateway")


class Serving(Struct, kw_only=True):
    engine: Gateway
    receivers: Receivers
    services: Services
    drafts: Drafts
    admission: Admission
    manifests: Mapping[str, Manifest]
    commands: Sequence[Command]
    new_id: Callable[[], str]
    seat: str
    boot_text: str = ""
    listens: Sequence[tuple[str, int]] = ()  # hosts and ports of its channels
    leaving: Leaving | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)  # somebody wants us to leave
    hurry: asyncio.Event = field(default_factory=asyncio.Event)  # and will not wait
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def leave(self, reason: Leaving) -> None:
        """Begin to leave; told to shut down a second time, stop waiting for turns. A shutdown is
        not made a restart by what comes later."""
        if self.leaving == reason == "shutdown_timeout":
            self.hurry.set()
        if self.leaving != "shutdown_timeout":
            self.leaving = reason
        self.asked.set()

    async def run(self, ready: Callable[[], None], limit_s: float) -> Leaving:
        """Run everything until asked to leave. Return the reason."""
        engine = self.engine
        engine.process.state = "starting"
        engine.hub.listeners += [self.drafts.notice] if self.drafts.screens else []
        engine.hub.listeners.append(self._notice)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(engine.joined(self.seat))
            stack.push_async_callback(cancelled, self._tasks)  # what was begun beside the loops
            await self._look_back()
            host = self.host()
            for post in self.receivers.posts:
                loop = partial(self.receivers.listen, post, host, self._came)
                await stack.enter_async_context(beside(keep_running(post.name, loop)))
            await stack.enter_async_context(beside(keep_running("delivery", self._deliver)))
            await stack.enter_async_context(beside(keep_running("claim", self._claim)))
            for run in self.services.runs:
                keep = partial(self.services.keep, run, host)
                await stack.enter_async_context(beside(keep_running(run.name, keep)))
            await self.receivers.attempted(FIRST_TRY_S)
            await self.services.attempted(FIRST_TRY_S)
            engine.process.state = "ready"
            await self._boot()
            ready()
            await self.asked.wait()
            reason = self.leaving or "shutdown_timeout"
            await self.drain(Drain(reason=reason, limit_s=limit_s))
        return self.leaving or reason

    async def _look_back(self) -> None:
        """Resume nothing automatically after a chain of crashed boots (C15), and restore pauses
        (C53)."""
        boots = await self.engine.store.nodes.boots(self.seat, limit=BOOTS_LOOKED_AT)
        earlier = [boot for boot in boots if boot.node != self.engine.node]
        if is_storm(earlier, self.engine.process.clock()):
            self.engine.process.resumes = False
            log.error("three boots in a row crashed: interrupted turns wait for a message")
        await self.engine.delivery.pace.begin()

    async def _boot(self) -> None:
        home = await self._home() if self.engine.process.resumes else None
        if self.boot_text.strip() and home is not None:
            node, at = self.engine.node, self.engine.process.clock()
            await self.engine.accept(boot_message(self.boot_text, home, node, at))

    async def drain(self, drain: Drain) -> None:
        engine = self.engine
        engine.process.state = "draining"
        at = engine.process.clock()
        sessions = engine.sessions.working()
        running = [
            active for active in sessions if drain.mark(active, self._manifest_of(active), at)
        ]
        log.info("leaving (%s): %d turns run", drain.reason, len(running))
        await ended(sessions, self.hurry, drain.limit_s)
        await self.drafts.close()
        await interrupt(engine.sessions.working())
        if not await self._sweep(self.manifests, LAST_WORDS_S):
            log.warning("some replies are sent after the next start")
        await engine.delivery.close(SENDS_END_S)

    def _manifest_of(self, active: ActiveSession) -> Manifest | None:
        turn = active.session.turn
        return self.manifests.get(turn.address.platform) if turn is not None else None

    def _came(self, platform: str) -> None:
        self._beside(self._welcome(platform))

    async def _welcome(self, platform: str) -> None:
        """Handle a platform that connected: send what is left over, then let its turns continue
        (C52). A slow chat holds up the others only for a while. What failed while it was away is
        due at once."""
        try:
            await self.engine.store.outbox.at_once([platform])
            if not await self._sweep([platform], SWEEP_S):
                log.warning("%s: old replies are still being sent; turns go on", platform)
        except StoreFailed as failure:
            log.warning("%s: old replies are sent later: %s", platform, failure)
        finally:
            self.engine.process.absent.discard(platform)
            self.engine.reconsider()
            self.engine.outgoing.set()

    def _notice(self, signal: Signal) -> None:
        match signal.glimpse:
            case Recorded(events=events):
                if any(isinstance(event, RestartAsked) for event in events):
                    self.leave("restart_timeout")
                if any(replies_of(event) for event in events):
                    self.engine.outgoing.set()
            case _:
                pass

    def _sendable(self) -> set[str]:
        """Return the platforms where replies are sent by themselves, and from this node."""
        manifests = self.manifests.values()
        names = {each.name for each in manifests if not each.attended and not each.fetched}
        return names - self.engine.process.elsewhere

    async def _sweep(self, platforms: Collection[str], limit_s: float) -> bool:
        """Send what is due, and wait for it. False when that takes longer; it goes on then."""
        tasks = await self._begin_sending(set(platforms) & self._sendable())
        return not tasks or not (await asyncio.wait(tasks, timeout=limit_s))[1]

    async def _begin_sending(self, platforms: Collection[str]) -> "Sequence[asyncio.Task[Flushed]]":
        tasks = await self.engine.delivery.start(platforms)
        for task in tasks:
            task.add_done_callback(self._sent)
        return tasks

    async def _tell_lost(self, flushed: Flushed) -> None:
        """Report abandoned replies in the home chat, unless that is the chat that refused."""
        home = await self._home()
        for reply, why in flushed.abandoned:
            log.error("gave up sending %s to %s: %s", reply.id, reply.address.platform, why)
            ours = reply.kind == "removal" or reply.id.startswith("lost#")
            if home is not None and home != reply.address and not ours:
                at = self.engine.process.clock()
                await self.engine.accept(undeliverable_message(reply, why, home, at))

    async def _home(self) -> Address | None:
        homes = await self.engine.store.library.homes()
        return homes[0].address if homes else None

    async def _claim(self) -> None:
        while True:
            while self.engine.process.state != "draining":
                if await self.engine.claim_all() < CLAIMS_MAX:
                    break
                await caught_up()
            await self.engine.store.nodes.wake(WAKE_S)
            self.engine.outgoing.set()  # it may have been for a reply of ours
            self.engine.store.jobs.look_again()
            await self.engine.look_after()
            await asyncio.sleep(GIVE_WAY_S)  # whoever took a message in works on it, too

    async def _deliver(self) -> None:
        while True:
            self.engine.outgoing.clear()
            await self._begin_sending(self._sendable() - self.engine.process.absent)
            again_at = self.engine.delivery.again_at
            now = self.engine.process.clock()
            wait_s = min(max(again_at - now, 0.05), WAKE_S) if again_at else WAKE_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self.engine.outgoing.wait()

    def _sent(self, task: "asyncio.Task[Flushed]") -> None:
        """Look for more to send, and report what was given up. After an unforeseen error the next
        wake-up tries again."""
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("sending stopped: %s", error, exc_info=error)
            return
        self.engine.outgoing.set()
        if task.result().abandoned:
            self._beside(self._tell_lost(task.result()))

    def _beside(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def host(self) -> GatewayHost:
        return GatewayHost(
            engine=self.engine, admission=self.admission, commands=self.commands, new_id=self.new_id
        )
