"""An engine from its parts: the one place that knows how the gateway, the agent and plugins meet.

Part of the composition root. What the parts are made of is the business of app.py.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hermes import __version__
from hermes.agent.loop import Agent
from hermes.agent.permit import Permit
from hermes.agent.prompt import Prompt, Sources, compose, parts_of
from hermes.agent.question import Asker
from hermes.core.budget import Budgets, Limits
from hermes.core.channel import Channel, Command, Door, Ear, Screen
from hermes.core.grants import Profile
from hermes.core.ids import NodeId, SessionKey
from hermes.core.messages import Call, Effect, Usage
from hermes.core.people import Role, Sender
from hermes.core.policy import Mode
from hermes.core.ports import Compactor, Provider, RawCall, Tool, ToolSpec
from hermes.core.rules import Busy, BusyMode, ResumeRules, Rules
from hermes.core.session import Session
from hermes.core.signals import Emit
from hermes.core.store import MediaShelf, Store
from hermes.gateway.delivery import Delivery
from hermes.gateway.drafts import Drafts
from hermes.gateway.drain import Drain
from hermes.gateway.hearing import Hearing
from hermes.gateway.intake import Intake
from hermes.gateway.lanes import Lanes
from hermes.gateway.live import Hub
from hermes.gateway.measure import Measure
from hermes.gateway.mirror import Mirror
from hermes.gateway.pace import Pace
from hermes.gateway.plan import Planner
from hermes.gateway.porter import Porter, Strangers
from hermes.gateway.present import Present
from hermes.gateway.purse import Purse
from hermes.gateway.serve import Serving
from hermes.gateway.service import Gateway
from hermes.gateway.standing import Standing
from hermes.gateway.supervise import beside, keep_running
from hermes.gateway.worker import Worker
from hermes.later import Later, LaterMapping, LaterSequence
from hermes.secrets.journal import clean_inbound, cleaned, veiled
from hermes.secrets.live import Sink
from hermes.views.skills import SkillShelf

LANES_BYTES_MAX = 8_000_000
LEASE_S = 15.0
LOOK_S, GIVE_WAY_S = 5.0, 0.2  # between looks at sessions that others may have left
LEAVE_S = 3.0  # for a step that is under way when its person leaves
DEFAULT_LIMITS = Limits()
DEFAULT_BUDGETS = Budgets()
DEFAULT_RESUME = ResumeRules()
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [first + second for first in ALPHABET for second in ALPHABET]


class Parts(Struct, frozen=True, kw_only=True):
    """What an engine is made of. Tests bring their own."""

    store: Store
    store_kind: str = "sqlite"
    provider: Provider
    tools: Sequence[Tool]
    channels: Sequence[Channel]
    media: MediaShelf
    screens: Mapping[str, Screen] = field(default_factory=dict)
    chosen: Callable[[str], Provider] | None = None  # the model of a name; None: there is but one
    choose: Callable[[str], str] = lambda name: name  # what a person calls it: its name
    role: Callable[[Sender], Role] = lambda _sender: Role.OWNER  # by what a setting says
    profile: Profile = "host"  # of the box that commands run in
    mode: Mode = "allow"  # what becomes of a call that the policy would ask about
    answer_s: float = 24 * 3600.0  # how long a question waits
    strangers: Strangers = "invite"
    messages_a_minute: int = 0  # of one person who is not the owner; 0: any number
    sink: Sink = field(default_factory=Sink)  # takes secrets out of what is kept or shown
    emit: Emit = lambda _signal: None
    compose: Callable[[Session, bool], Awaitable[Prompt]] | None = None  # a conversation's prompt
    commands: Mapping[str, Sequence[Command]] = field(default_factory=dict)  # more, by heading
    skills: Callable[[], SkillShelf] | None = None
    small: Callable[[], Provider] | None = None  # the model for small things; None: the first
    window: Callable[[str], int] = lambda _model: 0  # what a model can read; "": the first
    full_at: float = 0.75
    keep: float = 0.2
    limits: Limits = DEFAULT_LIMITS
    budgets: Budgets = DEFAULT_BUDGETS
    price: Callable[[str, Usage, int], float | None] = lambda _model, _usage, _calls: None
    resume: ResumeRules = DEFAULT_RESUME
    busy: BusyMode = "queue"
    on_stop: Literal["keep", "reset"] = "keep"
    beat_s: float = LEASE_S / 3
    clock: Callable[[], float] = time.time


def new_id() -> str:
    """Sortable by time, safe in a URL and as a file name: 10 characters of clock, 16 of chance."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join([PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def commands_of(parts: Parts) -> Sequence[Command]:
    from hermes.commands.chat import chat_commands

    return chat_commands(
        on_stop=parts.on_stop,
        default_model=parts.provider.name,
        choose=parts.choose,
        more=parts.commands,
    )


def listed_commands(parts: Parts) -> Sequence[Command]:
    """With one for each skill, as far as they are known when somebody asks."""
    from hermes.commands.skills import declared

    fixed = commands_of(parts)
    if parts.skills is None:
        return fixed
    return (*fixed, *declared(parts.skills(), {command.name: command for command in fixed}))


def _named_commands(parts: Parts) -> tuple[Mapping[str, Command], Mapping[str, Busy]]:
    """Each by its name, and when it may run."""
    from hermes.commands.skills import live_busy, live_commands

    fixed = {command.name: command for command in commands_of(parts)}
    if parts.skills is None:
        return fixed, {name: command.busy for name, command in fixed.items()}
    shelf = parts.skills()
    return live_commands(fixed, shelf), live_busy(fixed, shelf)


def build(parts: Parts) -> Gateway:
    """Put an engine together. Nothing happens yet."""
    commands = Later(lambda: _named_commands(parts))
    manifests = [channel.manifest for channel in parts.channels]
    node, hub = NodeId(new_id()), Hub()
    hub.listeners.append(parts.emit)
    present = Present(parts.clock, __version__, parts.store_kind, node)
    purse = _purse(parts)
    standing = Standing(trust=parts.store.trust, configured=parts.role)
    permit = _permit(parts, standing)
    present.ledger = purse.ledger
    intake = Intake(
        journal=parts.store.journal,
        clean=lambda inbound: clean_inbound(inbound, parts.sink),
        role=standing.latest,
        measure=Measure(a_minute=parts.messages_a_minute, clock=time.monotonic),
        new_id=new_id,
        emit=hub.emit,
        node=node,
    )
    return Gateway(
        store=parts.store,
        intake=intake,
        worker=Worker(
            journal=parts.store.journal,
            agent=_agent(parts, permit),
            planner=Planner(
                rules=_rules(parts, LaterMapping(lambda: commands()[1]), permit),
                commands=LaterMapping(lambda: commands()[0]),
                present=present,
                new_id=new_id,
            ),
            standing=standing,
            clean=lambda event: cleaned(event, parts.sink),
            veil=lambda watch: veiled(watch, parts.sink),
            emit=hub.emit,
            node=node,
            spend=purse.charge,
            fetched=frozenset(manifest.name for manifest in manifests if manifest.fetched),
        ),
        delivery=_delivery(parts, intake, node),
        node=node,
        lanes=Lanes(LANES_BYTES_MAX),
        beat_s=parts.beat_s,
        hub=hub,
        present=present,
        purse=purse,
        standing=standing,
    )


def _delivery(parts: Parts, intake: Intake, node: NodeId) -> Delivery:
    outbox, channels = parts.store.outbox, {each.manifest.name: each for each in parts.channels}
    pauses_s = {name: channel.manifest.pause_s for name, channel in channels.items()}
    return Delivery(
        outbox=outbox,
        mirror=Mirror(library=parts.store.library, accept=intake.accept, clock=parts.clock),
        channels=channels,
        screens=parts.screens,
        media=parts.media,
        pace=Pace(outbox=outbox, clock=parts.clock, pauses_s=pauses_s),
        node=node,
        clock=parts.clock,
    )


def _purse(parts: Parts) -> Purse:
    return Purse(
        library=parts.store.library,
        price=parts.price,
        clock=parts.clock,
        counts=parts.budgets.by_day,
    )


def _permit(parts: Parts, standing: Standing) -> Permit:
    return Permit(
        tools=LaterMapping(lambda: {tool.spec.name: tool for tool in parts.tools}),
        role=standing.role,
        grants=lambda: standing.register.grants,
        clock=parts.clock,
        profile=parts.profile,
        mode=parts.mode,
    )


def _rules(parts: Parts, commands: Mapping[str, Busy], permit: Permit) -> Rules:
    tools = permit.tools
    manifests = [channel.manifest for channel in parts.channels]
    return Rules(
        commands=commands,
        effect=lambda call: _effect(tools, call),
        recovers=LaterMapping(lambda: {n: t for n, t in tools.items() if t.seek is not None}),
        verdict=permit.verdict,
        role=permit.role,
        box=permit.box,
        limits=parts.limits,
        budgets=parts.budgets,
        resume=parts.resume,
        busy=parts.busy,
        tells=frozenset(manifest.name for manifest in manifests if manifest.tells_waiting),
        window=lambda session: parts.window(session.facts.get("model", "")),
        full_at=parts.full_at,
    )


def _agent(parts: Parts, permit: Permit) -> Agent:
    async def plain(session: Session, _owners: bool) -> Prompt:
        instructions = session.facts.get("instructions", "")
        return Prompt(compose(parts_of(Sources(instructions=instructions))))

    return Agent(
        provider=parts.provider,
        repaired=_repaired,
        chosen=parts.chosen or (lambda _name: parts.provider),
        tools=permit.tools,
        compose=parts.compose or plain,
        texts=parts.store.texts,
        small=parts.small or (lambda: parts.provider),
        window=lambda session: parts.window(session.facts.get("model", "")),
        compactor=Later(lambda: _compactor(parts)),
        media=parts.media,
        permit=permit,
        asker=Asker(
            tools=permit.tools,
            permit=permit,
            homes=parts.store.library.homes,
            answer_s=parts.answer_s,
            new_id=lambda: os.urandom(16).hex(),
            clock=parts.clock,
        ),
        clock=parts.clock,
    )


def _repaired(call: RawCall, known: Mapping[str, ToolSpec]) -> tuple[str, str, str]:
    from hermes.providers.repair import repaired

    return repaired(call, known)


def _compactor(parts: Parts) -> Compactor:
    from hermes.summaries.notes import NoteTaker

    return NoteTaker(keep=parts.keep, clock=parts.clock)


def serving(
    parts: Parts, *, ears: Sequence[Ear] = (), seat: str = "here", boot_text: str = ""
) -> Serving:
    """An engine with the loops around it. Nothing happens yet."""
    engine = build(parts)
    manifests = {channel.manifest.name: channel.manifest for channel in parts.channels}
    return Serving(
        engine=engine,
        hearing=Hearing(
            ears=ears, present=engine.present, nodes=parts.store.nodes, node=engine.node
        ),
        drafts=Drafts(
            screens=parts.screens,
            manifests=manifests,
            lanes=engine.lanes,
            pace=engine.delivery.pace,
            clock=parts.clock,
            is_sure=engine.is_sure,
        ),
        porter=Porter(
            standing=engine.standing,
            strangers=parts.strangers,
            homes=parts.store.library.homes,
            accept=engine.accept,
            new_id=new_id,
            clock=parts.clock,
        ),
        manifests=manifests,
        media=parts.media,
        commands=LaterSequence(lambda: listed_commands(parts)),
        describe=engine.worker.agent.describe,
        new_id=new_id,
        seat=seat,
        boot_text=boot_text,
    )


@asynccontextmanager
async def attended(here: Serving) -> AsyncIterator[Door]:
    """An engine that works for those sessions that somebody looks at, and leaves all others to
    whoever runs them. What is open at the end is marked, and goes on with the next one."""
    engine, looked_at = here.engine, set[SessionKey]()

    async def deliver(key: SessionKey) -> None:
        if key not in looked_at:
            looked_at.add(key)
            await engine.dispatch(key)
        await engine.deliver(key)

    async def look() -> None:
        while True:
            await engine.store.nodes.wake(LOOK_S)
            await engine.look_after()
            for key in tuple(looked_at):
                if engine.lanes.get(key) is None:
                    await engine.dispatch(key)  # whoever had it may have left
            await asyncio.sleep(GIVE_WAY_S)

    async with engine.joined(), beside(keep_running("look", look)):
        engine.present.state = "ready"
        try:
            yield replace(here.door(), deliver=deliver)
        finally:
            await here.drain(Drain(reason="shutdown_timeout", limit_s=LEAVE_S))


def _effect(tools: Mapping[str, Tool], call: Call) -> Effect:
    tool = tools.get(call.tool)
    return tool.effect(call.arguments) if tool is not None else Effect.EFFECT
