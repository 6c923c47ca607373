"""Build an engine from its parts: the one place that knows how gateway, agent and plugins meet.

Part of the composition root; `app/application.py` makes the parts.
"""

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from hermes import __version__
from hermes.agent.loop import Agent, leave_nothing
from hermes.agent.offer import ToolOffer, model_of
from hermes.agent.permit import Permit
from hermes.agent.prompt import Prompt, Sources, compose, parts_of
from hermes.agent.question import Asker
from hermes.agent.toolsets import (
    FilteredToolset,
    Recovering,
    children_of,
    composed,
    effect_of,
    for_reviews,
    is_parallel,
)
from hermes.core.budget import Budgets, TurnLimits
from hermes.core.channel import Channel, Command, Receiver, Screen, Service, audience_in
from hermes.core.child_sessions import ChildLimits
from hermes.core.directory import CHATS_MAX
from hermes.core.grants import Profile
from hermes.core.ids import NodeId
from hermes.core.messages import Reply, TurnOptions, Usage
from hermes.core.people import Role, Sender
from hermes.core.policy import Mode
from hermes.core.ports import Compactor, Provider, Toolset
from hermes.core.rules import Busy, BusyMode, ResumeRules, Rules
from hermes.core.session import Session
from hermes.core.signals import Emit
from hermes.core.store import MediaStore, Store
from hermes.gateway.admission import Admission, Strangers
from hermes.gateway.border import GuardedChannel, GuardedScreen
from hermes.gateway.call_results import CallResults
from hermes.gateway.cross_post import CrossPost
from hermes.gateway.delivery import Delivery
from hermes.gateway.drafts import Drafts
from hermes.gateway.inbound_rate import InboundRate
from hermes.gateway.intake import Intake
from hermes.gateway.live import Hub
from hermes.gateway.plan import Planner
from hermes.gateway.process_state import ProcessState
from hermes.gateway.receivers import Receivers
from hermes.gateway.send_rate import SendRate
from hermes.gateway.serve import Serving
from hermes.gateway.service import Gateway
from hermes.gateway.services import Services
from hermes.gateway.session_cache import SessionCache
from hermes.gateway.spending import SpendingCounter
from hermes.gateway.trust_cache import TrustCache
from hermes.gateway.windows import ReplyWindows
from hermes.gateway.worker import Worker
from hermes.lazy import Lazy, LazyMapping, LazyModule, LazySequence
from hermes.ports.skills import Skills
from hermes.secrets.journal import clean_inbound, cleaned, veiled
from hermes.secrets.live import Sink

if TYPE_CHECKING:
    from hermes.commands import chat as chat_command_list
    from hermes.commands import skills as skill_commands
    from hermes.commands import unknown as unknown_commands
    from hermes.gateway import family_lines
    from hermes.providers import repair
    from hermes.summaries import notes
else:
    family_lines = LazyModule("hermes.gateway.family_lines")
    chat_command_list = LazyModule("hermes.commands.chat")
    skill_commands = LazyModule("hermes.commands.skills")
    unknown_commands = LazyModule("hermes.commands.unknown")
    repair = LazyModule("hermes.providers.repair")
    notes = LazyModule("hermes.summaries.notes")

LANES_BYTES_MAX = 8_000_000
LEASE_S = 15.0
DEFAULT_LIMITS = TurnLimits()
DEFAULT_BUDGETS = Budgets()
DEFAULT_RESUME = ResumeRules()
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [first + second for first in ALPHABET for second in ALPHABET]


class Parts(Struct, frozen=True, kw_only=True):
    """What an engine is made of. Tests bring their own."""

    store: Store
    store_kind: str = "sqlite"
    provider: Provider
    tools: Toolset
    channels: Sequence[Channel]
    media: MediaStore
    screens: Mapping[str, Screen] = field(default_factory=dict)
    chosen: Callable[[str], Provider] | None = None  # the model of a name; None: there is but one
    leave: Callable[[TurnOptions], Awaitable[None]] = leave_nothing  # see Agent
    choose: Callable[[str], str] = lambda name: name  # what a person calls it: its name
    try_model: Callable[[str], Awaitable[None]] | None = None  # ask it something, or raise
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
    skills: Callable[[], Skills] | None = None
    small: Callable[[], Provider] | None = None  # the model for small things; None: the first
    window: Callable[[str], int] = lambda _model: 0  # what a model can read; "": the first
    full_at: float = 0.75
    keep: float = 0.2
    limits: TurnLimits = DEFAULT_LIMITS
    child_limits: ChildLimits = ChildLimits()
    complete_report: Callable[[Reply], Awaitable[Reply]] | None = None  # what else belongs to it
    budgets: Budgets = DEFAULT_BUDGETS
    price: Callable[[str, Usage, int], float | None] = lambda _model, _usage, _calls: None
    resume: ResumeRules = DEFAULT_RESUME
    busy: BusyMode = "queue"
    on_stop: Literal["keep", "reset"] = "keep"
    jobs_max: int = 8  # that run beside one another
    disk: Callable[[], str] = lambda: ""  # why the home cannot be written to
    beat_s: float = LEASE_S / 3
    clock: Callable[[], float] = time.time


def new_id() -> str:
    """Return an id that sorts by time and is safe in URLs and file names: 10 characters of time, 16
    random ones."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join([PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def commands_of(parts: Parts) -> Sequence[Command]:
    return chat_command_list.chat_commands(
        on_stop=parts.on_stop,
        default_model=parts.provider.name,
        choose=parts.choose,
        try_model=parts.try_model,
        more=parts.commands,
    )


def listed_commands(parts: Parts) -> Sequence[Command]:
    """Return all commands, with one for each skill that is known now."""
    fixed = commands_of(parts)
    if parts.skills is None:
        return fixed
    return (
        *fixed,
        *skill_commands.declared(parts.skills(), {command.name: command for command in fixed}),
    )


def _named_commands(parts: Parts) -> tuple[Mapping[str, Command], Mapping[str, Busy]]:
    """Return each command by its name, and when it may run."""
    fixed = {command.name: command for command in commands_of(parts)}
    if parts.skills is None:
        busy = {name: command.busy for name, command in fixed.items()}
        return unknown_commands.checked_commands(fixed), unknown_commands.checked_busy(busy)
    library = parts.skills()
    commands = skill_commands.live_commands(fixed, library)
    live = skill_commands.live_busy(fixed, library)
    return unknown_commands.checked_commands(commands), unknown_commands.checked_busy(live)


def build(parts: Parts) -> Gateway:
    """Build an engine. Nothing runs yet."""
    commands = Lazy(lambda: _named_commands(parts))
    manifests = [channel.manifest for channel in parts.channels]
    node, hub = NodeId(new_id()), Hub()
    hub.listeners.append(parts.emit)
    process = ProcessState(parts.clock, __version__, parts.store_kind, node)
    spending = _purse(parts)
    trust_cache = TrustCache(trust=parts.store.trust, configured=parts.role)
    permit = _permit(parts, trust_cache)
    process.ledger, process.disk = spending.ledger, parts.disk
    process.jobs_max = parts.jobs_max
    process.register = permit.register
    intake = Intake(
        journal=parts.store.journal,
        clean=lambda inbound: clean_inbound(inbound, parts.sink),
        role=trust_cache.latest,
        measure=InboundRate(a_minute=parts.messages_a_minute, clock=time.monotonic),
        new_id=new_id,
        emit=hub.emit,
        node=node,
        note_write=process.note_write,
    )
    return Gateway(
        store=parts.store,
        intake=intake,
        worker=Worker(
            journal=parts.store.journal,
            agent=_agent(parts, permit),
            planner=Planner(
                rules=_rules(parts, LazyMapping(lambda: commands()[1]), permit),
                commands=LazyMapping(lambda: commands()[0]),
                process=process,
                new_id=new_id,
            ),
            trust_cache=trust_cache,
            clean=lambda event: cleaned(event, parts.sink),
            veil=lambda watch: veiled(watch, parts.sink),
            emit=hub.emit,
            families=Lazy(lambda: family_lines.FamilyLines(emit=hub.emit, clock=parts.clock)),
            node=node,
            spend=spending.charge,
            fetched=frozenset(manifest.name for manifest in manifests if manifest.fetched),
        ),
        delivery=_delivery(parts, intake, process),
        node=node,
        sessions=SessionCache(LANES_BYTES_MAX),
        beat_s=parts.beat_s,
        hub=hub,
        process=process,
        spending=spending,
        trust_cache=trust_cache,
        audience=permit.audience,
    )


def _delivery(parts: Parts, intake: Intake, process: ProcessState) -> Delivery:
    outbox, note = parts.store.outbox, process.note_send
    results = CallResults(accept=intake.accept, clock=parts.clock, complete=parts.complete_report)
    every = (*parts.channels, results)
    channels = {each.manifest.name: GuardedChannel(each, note) for each in every}
    pauses_s = {name: channel.manifest.pause_s for name, channel in channels.items()}
    windows_s = {name: channel.manifest.window_s for name, channel in channels.items()}
    return Delivery(
        outbox=outbox,
        mirror=CrossPost(library=parts.store.library, accept=intake.accept, clock=parts.clock),
        channels=channels,
        screens={n: GuardedScreen(n, screen, note) for n, screen in parts.screens.items()},
        media=parts.media,
        pace=SendRate(outbox=outbox, clock=parts.clock, pauses_s=pauses_s),
        windows=ReplyWindows(journal=parts.store.journal, clock=parts.clock, windows_s=windows_s),
        node=process.node,
        clock=parts.clock,
        drawn={},
    )


def _purse(parts: Parts) -> SpendingCounter:
    return SpendingCounter(
        library=parts.store.library,
        price=parts.price,
        clock=parts.clock,
        counts=parts.budgets.by_day,
    )


def _permit(parts: Parts, trust_cache: TrustCache) -> Permit:
    return Permit(
        tools=FilteredToolset(parts.tools, for_reviews),
        role_by=trust_cache.role_by,
        register=lambda: trust_cache.register,
        clock=parts.clock,
        profile=parts.profile,
        mode=parts.mode,
        audience=audience_in(channel.manifest for channel in parts.channels),
    )


def _rules(parts: Parts, commands: Mapping[str, Busy], permit: Permit) -> Rules:
    tools = permit.tools
    manifests = [channel.manifest for channel in parts.channels]
    return Rules(
        commands=commands,
        effect=lambda call: effect_of(tools, call),
        recovers=Recovering(tools),
        parallel=lambda call: is_parallel(tools, call),
        children=lambda call: children_of(tools, call),
        composed=lambda call, parts: composed(tools, call, parts),
        verdict=permit.verdict,
        may_answer=permit.verdict,
        role=permit.role_by,
        box=permit.box,
        limits=parts.limits,
        child_limits=parts.child_limits,
        cost=lambda usage: _cost(parts, usage),
        budgets=parts.budgets,
        resume=parts.resume,
        busy=parts.busy,
        tells=frozenset(manifest.name for manifest in manifests if manifest.tells_waiting),
        window=lambda session: parts.window(model_of(session)),
        full_at=parts.full_at,
    )


def _cost(parts: Parts, usage: Mapping[str, Usage]) -> float | None:
    """Return US dollars, by the provider's figure or the list; None for an unknown price."""
    total = 0.0
    for model, used in usage.items():
        known = used.cost if used.cost is not None else parts.price(model, used, 1)
        if known is None:
            return None
        total += known
    return total


def _agent(parts: Parts, permit: Permit) -> Agent:
    async def plain(session: Session, _owners: bool) -> Prompt:
        instructions = session.facts.instructions
        return Prompt(compose(parts_of(Sources(instructions=instructions))))

    return Agent(
        provider=parts.provider,
        chosen=parts.chosen or (lambda _name: parts.provider),
        tools=permit.tools,
        offer=ToolOffer(
            tools=permit.tools,
            permit=permit,
            texts=parts.store.texts,
            repaired=lambda call, known: repair.repaired(call, known, lambda: _skills(parts)),
        ),
        compose=parts.compose or plain,
        texts=parts.store.texts,
        small=parts.small or (lambda: parts.provider),
        window=lambda session: parts.window(model_of(session)),
        compactor=Lazy(lambda: _compactor(parts)),
        media=parts.media,
        permit=permit,
        asker=Asker(
            tools=permit.tools,
            permit=permit,
            homes=parts.store.library.homes,
            chats=lambda: parts.store.library.chats(limit=CHATS_MAX),
            answer_s=parts.answer_s,
            buttons={each.manifest.name: each.manifest.buttons for each in parts.channels}.get,
            new_id=lambda: os.urandom(16).hex(),
            clock=parts.clock,
        ),
        clock=parts.clock,
        leave=parts.leave,
    )


def _skills(parts: Parts) -> frozenset[str]:
    return parts.skills().names() if parts.skills is not None else frozenset()


def _compactor(parts: Parts) -> Compactor:
    return notes.NoteTaker(keep=parts.keep, clock=parts.clock)


def serving(
    parts: Parts,
    *,
    receivers: Sequence[Receiver] = (),
    services: Sequence[Service] = (),
    seat: str = "here",
    boot_text: str = "",
) -> Serving:
    """Build an engine with its loops. Nothing runs yet."""
    engine = build(parts)
    manifests = {name: each.manifest for name, each in engine.delivery.channels.items()}
    return Serving(
        engine=engine,
        receivers=Receivers(
            receivers=receivers,
            process=engine.process,
            nodes=parts.store.nodes,
            node=engine.node,
        ),
        services=Services(services=services, process=engine.process),
        drafts=Drafts(
            screens=engine.delivery.screens,
            manifests=manifests,
            sessions=engine.sessions,
            pace=engine.delivery.pace,
            windows=engine.delivery.windows,
            outbox=parts.store.outbox,
            clock=parts.clock,
            is_sure=engine.is_sure,
            wake=engine.start,
            drawn=engine.delivery.drawn,
        ),
        admission=Admission(
            trust_cache=engine.trust_cache,
            strangers=parts.strangers,
            homes=parts.store.library.homes,
            accept=engine.accept,
            new_id=new_id,
            clock=parts.clock,
        ),
        manifests=manifests,
        commands=LazySequence(lambda: listed_commands(parts)),
        new_id=new_id,
        seat=seat,
        boot_text=boot_text,
    )
