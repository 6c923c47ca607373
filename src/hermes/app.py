"""The composition root: the one place that knows which plugins exist."""

import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes import __version__
from hermes.agent.loop import Agent
from hermes.agent.prompt import system_prompt, with_instructions
from hermes.commands.chat import chat_commands
from hermes.core.budget import Limits
from hermes.core.channel import Channel, Command, Ear, Screen
from hermes.core.errors import Misconfigured
from hermes.core.ids import CallId, NodeId, TurnId
from hermes.core.messages import Address, Call, Effect, Origin, Reply
from hermes.core.ports import Provider, Tool
from hermes.core.signals import Emit
from hermes.core.step import BusyMode, ResumeRules, Rules
from hermes.core.store import MediaShelf, Store
from hermes.core.terminal import Terminal
from hermes.gateway.delivery import Delivery
from hermes.gateway.drafts import Drafts
from hermes.gateway.hearing import Hearing
from hermes.gateway.intake import Intake
from hermes.gateway.lanes import Lanes
from hermes.gateway.live import Hub
from hermes.gateway.mirror import Mirror
from hermes.gateway.pace import Pace
from hermes.gateway.plan import Planner
from hermes.gateway.present import Present
from hermes.gateway.serve import Serving
from hermes.gateway.service import Gateway
from hermes.gateway.worker import Worker
from hermes.platforms import Platforms, platforms_of
from hermes.providers.repair import repaired

if TYPE_CHECKING:
    from hermes.channels.local.client import Attached
    from hermes.settings import Settings

LANES_BYTES_MAX = 16_000_000
LEASE_S = 15.0
TEXT_CHARS_MAX = 20_000  # of SOUL.md and of BOOT.md
INSIDE = "HERMES_TURN"  # set for commands that the gateway runs
DEFAULT_LIMITS = Limits()
DEFAULT_RESUME = ResumeRules()
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, kw_only=True)
class Parts:
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
    allowed: Callable[[Address, str], bool] = lambda _address, _sender: True
    emit: Emit = lambda _signal: None
    soul: str = ""
    limits: Limits = DEFAULT_LIMITS
    resume: ResumeRules = DEFAULT_RESUME
    busy: BusyMode = "queue"
    on_stop: Literal["keep", "reset"] = "keep"
    beat_s: float = LEASE_S / 3
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, kw_only=True)
class App:
    gateway: Gateway
    store: Store
    media: MediaShelf
    new_id: Callable[[], str]


def new_id() -> str:
    """Sortable by time, safe in a URL and as a file name: 10 characters of clock, 16 of chance."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def commands_of(parts: Parts) -> Sequence[Command]:
    return chat_commands(
        on_stop=parts.on_stop, default_model=parts.provider.name, choose=parts.choose
    )


def build(parts: Parts) -> Gateway:
    """Put an engine together. Nothing happens yet."""
    commands = {command.name: command for command in commands_of(parts)}
    manifests = [channel.manifest for channel in parts.channels]
    node, hub = NodeId(new_id()), Hub()
    hub.listeners.append(parts.emit)
    present = Present(parts.clock, __version__, parts.store_kind, node)
    channels = {channel.manifest.name: channel for channel in parts.channels}
    outbox = parts.store.outbox
    pace = Pace(
        outbox=outbox,
        clock=parts.clock,
        pauses_s={manifest.name: manifest.pause_s for manifest in manifests},
    )
    intake = Intake(
        journal=parts.store.journal,
        allowed=lambda inbound: _is_allowed(
            parts, inbound.origin, inbound.address, inbound.sender.id
        ),
        new_id=new_id,
        emit=hub.emit,
        node=node,
    )
    return Gateway(
        store=parts.store,
        intake=intake,
        worker=Worker(
            journal=parts.store.journal,
            agent=_agent(parts),
            planner=Planner(
                rules=_rules(parts, commands), commands=commands, present=present, new_id=new_id
            ),
            emit=hub.emit,
            node=node,
            fetched=frozenset(manifest.name for manifest in manifests if manifest.fetched),
        ),
        delivery=Delivery(
            outbox=outbox,
            mirror=Mirror(library=parts.store.library, accept=intake.accept, clock=parts.clock),
            channels=channels,
            screens=parts.screens,
            media=parts.media,
            pace=pace,
            node=node,
            clock=parts.clock,
        ),
        node=node,
        lanes=Lanes(LANES_BYTES_MAX),
        beat_s=parts.beat_s,
        hub=hub,
        present=present,
    )


def _rules(parts: Parts, commands: Mapping[str, Command]) -> Rules:
    tools = {tool.spec.name: tool for tool in parts.tools}
    manifests = [channel.manifest for channel in parts.channels]
    return Rules(
        commands={name: command.busy for name, command in commands.items()},
        effect=lambda call: _effect(tools, call),
        recovers=frozenset(name for name, tool in tools.items() if tool.seek is not None),
        limits=parts.limits,
        resume=parts.resume,
        busy=parts.busy,
        tells=frozenset(manifest.name for manifest in manifests if manifest.tells_waiting),
        allowed=lambda turn: _is_allowed(parts, turn.origin, turn.address, turn.sender),
    )


def _agent(parts: Parts) -> Agent:
    prompt = system_prompt(parts.soul)
    return Agent(
        provider=parts.provider,
        repaired=repaired,
        chosen=parts.chosen or (lambda _name: parts.provider),
        tools={tool.spec.name: tool for tool in parts.tools},
        prompt=lambda session: with_instructions(prompt, session.facts.get("instructions", "")),
        media=parts.media,
        clock=parts.clock,
    )


def _is_allowed(parts: Parts, origin: Origin, address: Address, sender: str) -> bool:
    """What is not said by a person comes from where the owner has let it in."""
    return origin != "person" or parts.allowed(address, sender)


@asynccontextmanager
async def store_only(home: Path, settings: "Settings") -> AsyncIterator[Store]:
    """The store for listings; no engine, no model."""
    store = await _open_store(home, settings)
    try:
        yield store
    finally:
        await store.upkeep.close()


async def beside(home: Path) -> "Attached | None":
    """The gateway that runs on this home, to talk to; None when none does."""
    from hermes.channels.local.client import Attached
    from hermes.stores.media import FileShelf

    return await Attached.to(home / "gateway.sock", media=FileShelf(home / "media"))


@asynccontextmanager
async def opened(
    home: Path,
    settings: "Settings",
    *,
    show: Callable[[Reply, str], None],
    emit: Emit,
    workdir: Path,
) -> AsyncIterator[App]:
    """An engine on this home, with a terminal as its channel."""
    from hermes.channels.local.client import LocalChannel

    platforms = Platforms(channels=[LocalChannel(show)])
    async with _parts(home, settings, platforms, workdir) as parts:
        gateway = build(replace(parts, emit=emit))
        yield App(gateway=gateway, store=parts.store, media=parts.media, new_id=new_id)


@asynccontextmanager
async def sending(home: Path, settings: "Settings") -> AsyncIterator[App]:
    """An engine that can send to every platform that is configured, and listens to none."""
    async with _parts(home, settings, platforms_of(home, settings), home) as parts:
        yield App(gateway=build(parts), store=parts.store, media=parts.media, new_id=new_id)


@asynccontextmanager
async def served(home: Path, settings: "Settings") -> AsyncIterator[Serving]:
    """The long-running gateway of this home, with every platform that is configured."""
    workdir = home / "workspace"
    workdir.mkdir(mode=0o700, exist_ok=True)
    platforms = platforms_of(home, settings)
    async with _parts(home, settings, platforms, workdir) as parts:
        seat = f"{socket.gethostname()}:{home}"
        boot_text = _text_of(home / "BOOT.md")
        yield serving(parts, ears=platforms.ears, seat=seat, boot_text=boot_text)


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
        manifests=manifests,
        media=parts.media,
        commands=commands_of(parts),
        describe=engine.worker.agent.describe,
        new_id=new_id,
        seat=seat,
        boot_text=boot_text,
    )


@asynccontextmanager
async def _parts(
    home: Path, settings: "Settings", platforms: Platforms, workdir: Path
) -> AsyncIterator[Parts]:
    from hermes.models import Models
    from hermes.stores.media import FileShelf
    from hermes.terminals.local import LocalTerminal

    models = Models(settings)
    environ = {**os.environ, "HERMES_HOME": str(home)}
    if platforms.inside:
        environ[INSIDE] = platforms.inside
    terminal = LocalTerminal(home / "calls", environ=environ)
    async with store_only(home, settings) as store:
        for call in await terminal.strays():
            if await _is_over(store, call):
                await terminal.stop(call, "stopped")
        try:
            yield Parts(
                store=store,
                store_kind=settings.store.url.partition(":")[0],
                provider=models.first,
                chosen=models.provider,
                choose=models.name,
                tools=_tools(terminal, settings, workdir),
                channels=platforms.channels,
                screens=platforms.screens,
                allowed=platforms.allowed,
                media=FileShelf(home / "media"),
                soul=_text_of(home / "SOUL.md"),
                limits=Limits(
                    steps_max=settings.agent.steps_max, tokens_max=settings.agent.tokens_max
                ),
                resume=ResumeRules(
                    auto=settings.gateway.resume.auto,
                    freshness_s=settings.gateway.resume.freshness_s,
                    attempts_max=settings.gateway.resume.attempts_max,
                ),
                busy=settings.gateway.busy,
                on_stop=settings.sessions.on_stop,
            )
        finally:
            for close in (*platforms.closing, models.aclose):
                await close()
            await terminal.sweep()  # of old output, after the answer; what runs goes on
            await terminal.close()


async def _is_over(store: Store, call: CallId) -> bool:
    """Did the turn end, and its process die before it could end the command as well?"""
    turn = await store.library.turn(TurnId(call.rpartition("-")[0]))
    return turn is None or turn.state in ("answered", "failed", "stopped")


def _tools(terminal: Terminal, settings: "Settings", workdir: Path) -> Sequence[Tool]:
    from hermes.tools.defaults import default_tools

    return default_tools(
        terminal,
        workdir=str(Path(settings.terminal.workdir or workdir).expanduser().absolute()),
        home=str(Path.home()),
        timeout_s=settings.terminal.timeout_s,
    )


def _effect(tools: Mapping[str, Tool], call: Call) -> Effect:
    tool = tools.get(call.tool)
    return tool.effect(call.arguments) if tool is not None else Effect.EFFECT


async def _open_store(home: Path, settings: "Settings") -> Store:
    url = settings.store.url
    if url == "sqlite":
        from hermes.stores.sqlite import open_sqlite

        return await open_sqlite(home / "hermes.db", clock=time.time, lease_s=LEASE_S)
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from hermes.stores.postgres import open_postgres
        except ModuleNotFoundError as missing:
            fix = "Install it: pip install 'hermes[postgres]'"
            raise Misconfigured("store.url", f"needs the package {missing.name}", fix) from missing
        return await open_postgres(url, clock=time.time, lease_s=LEASE_S)
    raise Misconfigured("store.url", f"{url!r} is unknown", "Use sqlite or postgresql://…")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[:TEXT_CHARS_MAX]
    except FileNotFoundError:
        return ""
