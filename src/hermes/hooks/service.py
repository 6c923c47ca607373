"""The service of all hooks: follows what the gateway commits, and lets the programs know.

Nobody waits for a hook: what is heard goes into a backlog, and a few workers run the programs.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes.core.channel import ServiceHost
from hermes.core.errors import HermesError, ToolFailed
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import derived
from hermes.core.signals import Signal
from hermes.hooks.backlog import Backlog, PendingHook
from hermes.hooks.declared import Hook, hooks_in
from hermes.hooks.occasions import OWN_LANE, Occasion, bounded, occasions, value_in
from hermes.hooks.recent import Recent, found_in
from hermes.hooks.run import Boxes, Failure, HookOutput, environment, run, started

AT_ONCE_MAX = 4
FAILURES_MAX = 5  # in a row; then the hook is disabled until the next start
LOOK_BACK = 100  # events in which a message's words are looked for
START = "gateway:start"

log = logging.getLogger("hermes.hooks")


class Hooks:
    """See `Service`. The folder is read when it starts."""

    def __init__(
        self,
        folder: Path,
        *,
        home: Path,
        environ: Mapping[str, str],
        python: str,
        boxes: Boxes | None = None,
    ) -> None:
        self._folder = folder
        self._boxes = boxes
        self._python = python
        self._environment = environment(environ, str(home))
        self._failures: Counter[str] = Counter()
        self._started = False

    @property
    def name(self) -> str:
        return "hooks"

    async def run(self, host: ServiceHost) -> None:
        hooks = await asyncio.to_thread(hooks_in, self._folder, python=self._python)
        host.connected()
        for hook in hooks:
            if not hook.boxed:
                log.warning("hook %s runs without a sandbox, as its HOOK.yaml says", hook.name)
        if not hooks:
            await asyncio.get_running_loop().create_future()
        backlog = Backlog()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE_MAX):
                group.create_task(self._work(host, backlog))
            await self._follow(host, hooks, backlog)

    async def _follow(self, host: ServiceHost, hooks: Sequence[Hook], backlog: Backlog) -> None:
        recent = Recent()
        with host.watch(None, live=False) as feed:
            if not self._started:
                self._started = True
                _spread(Occasion(event=START, at=host.clock()), hooks, backlog)
            while True:
                signal = await feed.next()
                if missed := feed.missed:
                    log.warning("hooks were too slow and missed %d signals", missed)
                _heard(signal, recent, hooks, backlog)

    async def _work(self, host: ServiceHost, backlog: Backlog) -> None:
        while True:
            errand = await backlog.take()
            try:
                if self._failures[errand.hook.name] < FAILURES_MAX:
                    await self._perform(host, errand)
            finally:
                backlog.done(errand)

    async def _perform(self, host: ServiceHost, errand: PendingHook) -> None:
        hook = errand.hook
        occasion = await _looked_up(host, errand.occasion)
        outcome = await self._outcome(hook, value_in(occasion))
        if self._failures[hook.name] >= FAILURES_MAX:
            return
        if isinstance(outcome, Failure):
            self._failed(hook, occasion, outcome)
            return
        self._failures.pop(hook.name, None)
        if outcome.log:
            log.info("hook %s: %s", hook.name, bounded(outcome.log))
        if outcome.say.strip():
            await _say(host, hook, occasion, outcome)

    async def _outcome(self, hook: Hook, value: bytes) -> HookOutput | Failure:
        try:
            start = await asyncio.to_thread(started, hook, self._environment, self._boxes)
        except ToolFailed as refused:
            return Failure(f"was not started: {refused}")
        return await run(hook, value, start)

    def _failed(self, hook: Hook, occasion: Occasion, failure: Failure) -> None:
        said = f"; its last words: {failure.error}" if failure.error else ""
        log.warning("hook %s at %s %s%s", hook.name, occasion.event, failure.problem, said)
        self._failures[hook.name] += 1
        if self._failures[hook.name] == FAILURES_MAX:
            words = "hook %s failed %d times in a row and is disabled until the next start"
            log.warning(words, hook.name, FAILURES_MAX)


def _heard(signal: Signal, recent: Recent, hooks: Sequence[Hook], backlog: Backlog) -> None:
    recent.note(signal)
    for occasion in occasions(signal):
        _spread(recent.completed(occasion), hooks, backlog)


def _spread(occasion: Occasion, hooks: Sequence[Hook], backlog: Backlog) -> None:
    for hook in hooks:
        if occasion.event in hook.events:
            backlog.put(PendingHook(hook, occasion))


async def _looked_up(host: ServiceHost, occasion: Occasion) -> Occasion:
    """With words that came before this process began, or through another one."""
    if not occasion.messages:
        return occasion
    after = max(0, occasion.position - LOOK_BACK)
    try:
        events = await host.store.library.events(occasion.session, after=after, limit=LOOK_BACK)
    except HermesError as failed:
        log.warning("a hook gets %s without its text: %s", occasion.event, failed)
        return occasion
    return found_in(events, occasion)


async def _say(host: ServiceHost, hook: Hook, occasion: Occasion, wish: HookOutput) -> None:
    """Into the chat of the session, once, however often the event is heard of."""
    try:
        place = await _place(host, occasion)
        if place is None:
            log.warning(
                "hook %s has a message for %s, but no chat to send it to", hook.name, occasion.event
            )
            return
        session, address = place
        said = Inbound(
            id=_name(host, occasion),
            account=f"hook:{hook.name}",
            session=session,
            sender=Person(id=f"hook:{hook.name}"),
            address=address,
            text=bounded(wish.say),
            at=host.clock(),
            origin="relay",
        )
        await host.accept(derived(said))
    except HermesError as refused:
        log.warning("the message of hook %s could not be stored: %s", hook.name, refused)


async def _place(host: ServiceHost, occasion: Occasion) -> tuple[SessionKey, Address] | None:
    if occasion.event == START:
        homes = await host.store.library.homes()
        return (OWN_LANE, homes[0].address) if homes else None
    address = occasion.address
    if address is None:
        turn = (await host.store.journal.load(occasion.session)).turn
        address = turn.address if turn is not None else None
    return (occasion.session, address) if address is not None else None


def _name(host: ServiceHost, occasion: Occasion) -> MessageId:
    if occasion.event == START:
        return MessageId(host.new_id())
    what = f"{occasion.session}\n{occasion.position}\n{occasion.event}"
    return MessageId(hashlib.sha256(what.encode()).hexdigest()[:32])
