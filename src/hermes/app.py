"""The composition root: the one place that knows which plugins exist."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes.agent.loop import Agent
from hermes.agent.prompt import system_prompt
from hermes.commands.session import session_commands
from hermes.core.budget import Limits
from hermes.core.channel import Channel
from hermes.core.errors import Misconfigured
from hermes.core.ids import NodeId
from hermes.core.messages import Call, Effect, Reply
from hermes.core.ports import MediaShelf, Provider, Tool
from hermes.core.signals import Emit
from hermes.core.step import BusyMode, ResumeRules, Rules
from hermes.core.store import Store
from hermes.core.terminal import Terminal
from hermes.gateway.delivery import Delivery
from hermes.gateway.intake import Intake
from hermes.gateway.lanes import Lanes
from hermes.gateway.plan import Planner
from hermes.gateway.service import Gateway
from hermes.gateway.worker import Worker

if TYPE_CHECKING:
    from hermes.settings import Fallback, Settings

LANES_BYTES_MAX = 16_000_000
LEASE_S = 15.0
SOUL_CHARS_MAX = 20_000
DEFAULT_LIMITS = Limits()
DEFAULT_RESUME = ResumeRules()
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What an engine is made of. Tests bring their own."""

    store: Store
    provider: Provider
    tools: Sequence[Tool]
    channels: Sequence[Channel]
    media: MediaShelf
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


def build(parts: Parts) -> Gateway:
    """Put an engine together. Nothing happens yet."""
    tools = {tool.spec.name: tool for tool in parts.tools}
    commands = {command.name: command for command in session_commands(parts.on_stop)}
    rules = Rules(
        commands={name: command.busy for name, command in commands.items()},
        effect=lambda call: _effect(tools, call),
        recovers=frozenset(name for name, tool in tools.items() if tool.seek is not None),
        limits=parts.limits,
        resume=parts.resume,
        busy=parts.busy,
    )
    prompt = system_prompt(parts.soul)
    agent = Agent(
        provider=parts.provider,
        tools=tools,
        prompt=lambda _session: prompt,
        media=parts.media,
        clock=parts.clock,
    )
    node = NodeId(new_id())
    journal = parts.store.journal
    planner = Planner(rules=rules, commands=commands, clock=parts.clock, new_id=new_id)
    channels = {channel.manifest.name: channel for channel in parts.channels}
    outbox = parts.store.outbox
    return Gateway(
        store=parts.store,
        intake=Intake(journal=journal, allowed=lambda _inbound: True, new_id=new_id),
        worker=Worker(journal=journal, agent=agent, planner=planner, emit=parts.emit, node=node),
        delivery=Delivery(outbox=outbox, channels=channels, node=node, clock=parts.clock),
        node=node,
        lanes=Lanes(LANES_BYTES_MAX),
        beat_s=parts.beat_s,
    )


@asynccontextmanager
async def store_only(home: Path, settings: "Settings") -> AsyncIterator[Store]:
    """The store for listings; no engine, no model."""
    store = await _open_store(home, settings)
    try:
        yield store
    finally:
        await store.upkeep.close()


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
    from hermes.stores.media import FileShelf
    from hermes.terminals.local import LocalTerminal

    provider = model_provider(settings)
    media = FileShelf(home / "media")
    terminal = LocalTerminal(home / "calls", environ=os.environ)
    async with store_only(home, settings) as store:
        parts = Parts(
            store=store,
            provider=provider,
            tools=_tools(terminal, settings, workdir),
            channels=[LocalChannel(show)],
            media=media,
            emit=emit,
            soul=_soul(home),
            limits=Limits(steps_max=settings.agent.steps_max, tokens_max=settings.agent.tokens_max),
            resume=ResumeRules(
                auto=settings.gateway.resume.auto,
                freshness_s=settings.gateway.resume.freshness_s,
                attempts_max=settings.gateway.resume.attempts_max,
            ),
            busy=settings.gateway.busy,
            on_stop=settings.sessions.on_stop,
        )
        try:
            yield App(gateway=build(parts), store=store, media=media, new_id=new_id)
        finally:
            await provider.aclose()
            await terminal.sweep()  # of old output, after the answer; what runs goes on
            await terminal.close()


def model_provider(settings: "Settings") -> Provider:
    """The model of the settings, with its fallbacks. Raises Misconfigured."""
    from hermes.providers.build import build as build_provider
    from hermes.providers.settings import ModelSettings, Timeouts

    def model(one: "Fallback", fallbacks: Sequence["Fallback"] = ()) -> ModelSettings:
        return ModelSettings(
            provider=one.provider,
            name=one.name,
            base_url=one.base_url,
            api_key=one.api_key,
            context_length=one.context_length,
            timeouts=Timeouts(
                connect_s=one.timeouts.connect_s,
                first_token_s=one.timeouts.first_token_s,
                silence_s=one.timeouts.silence_s,
            ),
            headers=one.headers,
            body=one.extra_body,
            fallback=tuple(model(other) for other in fallbacks),
        )

    return build_provider(model(settings.model, settings.model.fallbacks), settings.secrets)


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


def _soul(home: Path) -> str:
    try:
        return (home / "SOUL.md").read_text(encoding="utf-8", errors="replace")[:SOUL_CHARS_MAX]
    except FileNotFoundError:
        return ""
