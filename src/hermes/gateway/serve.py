"""The long-running process: loops beside one another until somebody asks it to leave.

Start: be seen, listen, send what is left over, take up what was interrupted. End: mark, drain, say
the last words, let go. Each loop that dies is begun anew, or ends the process loudly.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack

from msgspec import Struct, field

from hermes.core.channel import Command, Considered, Door, Manifest
from hermes.core.errors import StoreFailed
from hermes.core.events import RestartAsked
from hermes.core.messages import Address, Media, Reply
from hermes.core.projection import replies_of
from hermes.core.signals import Recorded, Signal
from hermes.core.store import MediaShelf
from hermes.gateway.boot import BOOTS_LOOKED_AT, boot_message, is_storm
from hermes.gateway.delivery import Flushed
from hermes.gateway.drafts import Drafts
from hermes.gateway.drain import Drain, Leaving, ended, interrupt
from hermes.gateway.hearing import Hearing, Post
from hermes.gateway.lanes import Lane
from hermes.gateway.lost import lost_message
from hermes.gateway.porter import Porter
from hermes.gateway.service import CLAIMS_MAX, Gateway
from hermes.gateway.supervise import beside, caught_up, keep_running

GIVE_WAY_S = 0.2
WAKE_S = 5.0
FIRST_TRY_S = 10.0  # how long a start waits for channels before it goes on without them
SWEEP_S = 5.0  # how long old replies may hold up the resuming of turns
LAST_WORDS_S = 5.0

log = logging.getLogger("hermes.gateway")


class Serving(Struct, kw_only=True):
    engine: Gateway
    hearing: Hearing
    drafts: Drafts
    porter: Porter
    manifests: Mapping[str, Manifest]
    media: MediaShelf
    commands: Sequence[Command]
    describe: Callable[[Media], Awaitable[Considered | None]]
    new_id: Callable[[], str]
    seat: str
    boot_text: str = ""
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
        """Everything, until somebody asks to leave; returns what for."""
        engine = self.engine
        engine.present.state = "starting"
        engine.hub.listeners += [self.drafts.notice] if self.drafts.screens else []
        engine.hub.listeners.append(self._notice)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(engine.joined(self.seat))
            await self._look_back()
            door = self.door()
            for post in self.hearing.posts:
                loop = self._ear(post, door)
                await stack.enter_async_context(beside(keep_running(post.name, loop)))
            await stack.enter_async_context(beside(keep_running("delivery", self._deliver)))
            await stack.enter_async_context(beside(keep_running("claim", self._claim)))
            await self.hearing.attempted(FIRST_TRY_S)
            engine.present.state = "ready"
            await self._boot()
            ready()
            await self.asked.wait()
            reason = self.leaving or "shutdown_timeout"
            await self.drain(Drain(reason=reason, limit_s=limit_s))
        return self.leaving or reason

    async def _look_back(self) -> None:
        """A chain of crashed boots resumes nothing by itself (C15); pauses go on (C53)."""
        boots = await self.engine.store.nodes.boots(self.seat, limit=BOOTS_LOOKED_AT)
        earlier = [boot for boot in boots if boot.node != self.engine.node]
        if is_storm(earlier, self.engine.present.clock()):
            self.engine.present.resumes = False
            log.error("three boots in a row crashed: interrupted turns wait for a message")
        await self.engine.delivery.pace.begin()

    async def _boot(self) -> None:
        home = await self._home() if self.engine.present.resumes else None
        if self.boot_text.strip() and home is not None:
            node, at = self.engine.node, self.engine.present.clock()
            await self.engine.accept(boot_message(self.boot_text, home, node, at))

    async def drain(self, drain: Drain) -> None:
        engine = self.engine
        engine.present.state = "draining"
        at = engine.present.clock()
        lanes = engine.lanes.working()
        running = [lane for lane in lanes if drain.mark(lane, self._manifest_of(lane), at)]
        log.info("leaving (%s): %d turns run", drain.reason, len(running))
        await ended(lanes, self.hurry, drain.limit_s)
        await self.drafts.close()
        await interrupt(engine.lanes.working())
        try:
            async with asyncio.timeout(LAST_WORDS_S):
                await self._flush(self.manifests)
        except TimeoutError:
            log.warning("some replies are sent after the next start")

    def _manifest_of(self, lane: Lane) -> Manifest | None:
        turn = lane.session.turn
        return self.manifests.get(turn.address.platform) if turn is not None else None

    def _ear(self, post: Post, door: Door) -> Callable[[], Coroutine[None, None, None]]:
        return lambda: self.hearing.listen(post, door, self._came)

    def _came(self, platform: str) -> None:
        self._beside(self._welcome(platform))

    async def _welcome(self, platform: str) -> None:
        """A platform is there. What is left over for it goes out first, then its turns go on
        (C52); but a slow chat does not hold up the others for ever."""
        try:
            async with asyncio.timeout(SWEEP_S):
                await self._flush([platform])
        except TimeoutError:
            log.warning("%s: old replies are still being sent; turns go on meanwhile", platform)
        except StoreFailed as failure:
            log.warning("%s: old replies are sent later: %s", platform, failure)
        self.engine.present.absent.discard(platform)
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
        """Platforms where replies are sent by themselves, and from here."""
        manifests = self.manifests.values()
        names = {each.name for each in manifests if not each.attended and not each.fetched}
        return names - self.engine.present.elsewhere

    async def _flush(self, platforms: Collection[str]) -> None:
        sendable = set(platforms) & self._sendable()
        await self._told(await self.engine.delivery.flush(sendable))

    async def _told(self, flushed: Flushed) -> None:
        for reply, why in flushed.abandoned:
            await self._tell_lost(reply, why)

    async def _tell_lost(self, reply: Reply, why: str) -> None:
        """Where the person can see it: in the home chat, unless that is the one that is shut."""
        home = await self._home()
        log.error("gave up sending %s to %s: %s", reply.id, reply.address.platform, why)
        if home is not None and home != reply.address and not reply.id.startswith("lost#"):
            at = self.engine.present.clock()
            await self.engine.accept(lost_message(reply, why, home, at))

    async def _home(self) -> Address | None:
        homes = await self.engine.store.library.homes()
        return homes[0].address if homes else None

    async def _claim(self) -> None:
        while True:
            while self.engine.present.state != "draining":
                if await self.engine.claim_all() < CLAIMS_MAX:
                    break
                await caught_up()
            await self.engine.store.nodes.wake(WAKE_S)
            self.engine.outgoing.set()  # it may have been for a reply of ours
            await self.engine.look_after()
            await asyncio.sleep(GIVE_WAY_S)  # whoever took a message in works on it, too

    async def _deliver(self) -> None:
        while True:
            self.engine.outgoing.clear()
            here = self._sendable() - self.engine.present.absent
            for task in await self.engine.delivery.start(here):
                task.add_done_callback(self._sent)
            again_at = self.engine.delivery.again_at
            now = self.engine.present.clock()
            wait_s = min(max(again_at - now, 0.05), WAKE_S) if again_at else WAKE_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self.engine.outgoing.wait()

    def _sent(self, task: "asyncio.Task[Flushed]") -> None:
        """There may be more, or something to try again, or to tell."""
        self.engine.outgoing.set()
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("sending stopped: %s", error, exc_info=error)
        elif task.result().abandoned:
            self._beside(self._told(task.result()))

    def _beside(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def door(self) -> Door:
        engine = self.engine
        return Door(
            accept=engine.accept,
            role=engine.standing.latest,
            patient=engine.intake.measure.has_room,
            knock=self.porter.knock,
            deliver=engine.deliver,
            watch=engine.hub.watch,
            state=engine.state,
            status=engine.status,
            connected=lambda: None,
            polled=lambda: None,
            describe=self.describe,
            store=engine.store,
            media=self.media,
            commands=self.commands,
            new_id=self.new_id,
            clock=engine.present.clock,
        )
