"""What can be done with a home: chat, run a gateway, send. The front of the composition root.

Only what is used is imported.
"""

import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.prompt import Prompt
from hermes.agent.toolsets import LazyToolset
from hermes.app.attended import attended
from hermes.app.engine import Parts, build, new_id, serving
from hermes.app.limits import (
    budgets_of,
    child_limits,
    price_of,
    resume_rules,
    turn_limits,
)
from hermes.app.platforms import Platforms, hooks_of, platforms_of, roles_in
from hermes.app.scripts import with_scripts
from hermes.app.storage import audit_key_of, demand_store
from hermes.app.storage import store_only as store_only
from hermes.app.strays import end_strays
from hermes.channels.kit.plugin import Held
from hermes.core.channel import Channel, Command, Service
from hermes.core.errors import Misconfigured
from hermes.core.messages import Reply
from hermes.core.session import Session
from hermes.core.signals import Emit
from hermes.core.store import MediaStore, Store
from hermes.gateway.process_state import disk_problem
from hermes.gateway.serve import Serving
from hermes.gateway.service import Gateway
from hermes.installed import how_to_add
from hermes.lazy import Lazy, LazyMapping, LazyModule
from hermes.ports.sandbox import profile_of
from hermes.settings.live import LiveSettings

if TYPE_CHECKING:
    from hermes.app import agent_setup, costs, schedules, workspaces
    from hermes.app import models as app_models
    from hermes.channels.local import client as local_client
    from hermes.channels.local import server as local_server
    from hermes.context import files as context_files
    from hermes.context import personalities
    from hermes.egress import rules as egress_rules
    from hermes.memory import honcho as honcho_service
    from hermes.memory import mirror as memory_mirror
    from hermes.memory import reviewer
    from hermes.ports.memory import Memories
    from hermes.ports.workspace import Workspace
    from hermes.schedules import channel as kept_answers
    from hermes.secrets import live as live_secrets
    from hermes.secrets import process as secrets_process
    from hermes.settings import Settings
    from hermes.settings import record as settings_record
    from hermes.stores import media as media_files
    from hermes.terminals.sandbox import proxy as sandbox_proxy
else:
    agent_setup = LazyModule("hermes.app.agent_setup")
    costs = LazyModule("hermes.app.costs")
    schedules = LazyModule("hermes.app.schedules")
    workspaces = LazyModule("hermes.app.workspaces")
    app_models = LazyModule("hermes.app.models")
    local_client = LazyModule("hermes.channels.local.client")
    local_server = LazyModule("hermes.channels.local.server")
    context_files = LazyModule("hermes.context.files")
    personalities = LazyModule("hermes.context.personalities")
    egress_rules = LazyModule("hermes.egress.rules")
    honcho_service = LazyModule("hermes.memory.honcho")
    memory_mirror = LazyModule("hermes.memory.mirror")
    reviewer = LazyModule("hermes.memory.reviewer")
    kept_answers = LazyModule("hermes.schedules.channel")
    live_secrets = LazyModule("hermes.secrets.live")
    secrets_process = LazyModule("hermes.secrets.process")
    settings_record = LazyModule("hermes.settings.record")
    media_files = LazyModule("hermes.stores.media")
    sandbox_proxy = LazyModule("hermes.terminals.sandbox.proxy")

BOOT_CHARS_MAX = 20_000
INSIDE = "HERMES_TURN"  # set for commands that the gateway runs


class App(Struct, frozen=True, kw_only=True):
    gateway: Gateway
    store: Store
    media: MediaStore
    new_id: Callable[[], str]


async def note_settings(store: Store, home: Path, settings: "Settings", *, by: str) -> None:
    """Record changed settings in the audit log before they take effect."""
    now = settings_record.in_force(home, settings, audit_key_of(home, settings))
    await settings_record.note_changes(store.audit, home, now, by=by, at=time.time())


async def beside(home: Path) -> "local_client.Attached | None":
    """Return a connection to the gateway that runs on this home; None when none does."""
    return await local_client.Attached.to(
        home / "gateway.sock", media=media_files.FileMediaStore(home / "media")
    )


@asynccontextmanager
async def opened(
    home: Path,
    settings: "Settings",
    *,
    show: Callable[[Reply, str], None],
    emit: Emit,
    workdir: Path,
) -> AsyncIterator[App]:
    """Open an engine on this home, with a terminal as its channel."""
    platforms = Platforms(channels=[local_client.LocalChannel(show)], absent=roles_in(settings))
    async with _parts(home, settings, platforms, workdir) as parts:
        await note_settings(parts.store, home, settings, by="a chat that begins")
        gateway = build(replace(parts, emit=emit))
        yield App(gateway=gateway, store=parts.store, media=parts.media, new_id=new_id)


@asynccontextmanager
async def inside(
    home: Path, settings: "Settings", *, workdir: Path
) -> AsyncIterator[Callable[[], Awaitable["local_client.Attached | None"]]]:
    """Open an engine in this process and use it like one in another process."""
    local = local_server.LocalServer(home / "gateway.sock")  # nobody else comes: it never listens
    platforms = Platforms(channels=[local], absent=roles_in(settings))
    own = _parts(home, settings, platforms, workdir)
    async with own as parts, attended(serving(parts)) as host:

        async def attach() -> "local_client.Attached | None":
            return await local_client.Attached.by(await local.welcome(host), media=parts.media)

        try:
            yield attach
        finally:
            await local.leave()


@asynccontextmanager
async def sending(home: Path, settings: "Settings") -> AsyncIterator[App]:
    """Open an engine that can send to every configured platform and receives from none."""
    platforms = platforms_of(home, settings)
    async with _parts(home, settings, platforms, home, asks_model=False) as parts:
        yield App(gateway=build(parts), store=parts.store, media=parts.media, new_id=new_id)


@asynccontextmanager
async def served(home: Path, settings: "Settings") -> AsyncIterator[Serving]:
    """Open the long-running gateway of this home, with every configured platform."""
    workdir = home / "workspace"
    workdir.mkdir(mode=0o700, exist_ok=True)
    platforms = platforms_of(home, settings)
    services = _services(home, settings)
    async with _parts(home, settings, platforms, workdir) as parts:
        await note_settings(parts.store, home, settings, by="the gateway that starts")
        seat = f"{socket.gethostname()}:{home}"
        boot_text = _text_of(home / "BOOT.md")
        here = serving(
            parts,
            receivers=platforms.receivers,
            services=services,
            seat=seat,
            boot_text=boot_text,
        )
        here.listens = tuple((host, port) for _, host, port in platforms.listens)
        yield here


async def preflight(home: Path, settings: "Settings", held: Held) -> None:
    """Build what `served` builds and open nothing of it. Raise Misconfigured or StoreFailed when a
    gateway could not start. `held` tells the addresses of one that is to be replaced."""
    platforms = platforms_of(home, settings)
    try:
        _services(home, settings)
        _demand_sound(settings)
        models = app_models.Models(settings)
        await models.aclose()
        await demand_store(home, settings)
        for check in platforms.preflights:
            await check(held)
    finally:
        for close in platforms.closing:
            await close()


@asynccontextmanager
async def _parts(
    home: Path,
    settings: "Settings",
    platforms: Platforms,
    workdir: Path,
    *,
    asks_model: bool = True,
) -> AsyncIterator[Parts]:
    secrets_process.no_dumps()
    models, hosts = _models(home, settings, asks_model), settings.terminal.allow_hosts
    sink = live_secrets.sink_of(home, settings)
    live = LiveSettings(home, settings, environ=os.environ)
    workspace = Lazy(lambda: _workspace(home, settings, platforms.inside, workdir, sink))
    _demand_sound(settings)
    equipped = Lazy(lambda: _equipped(home, settings, platforms, workspace(), live, models.name))
    minds = with_scripts(models, home, settings, workspace)
    platforms.give_jobs(lambda: equipped().jobs)
    async with store_only(home, settings) as store, _granted(home, hosts):
        await end_strays(home, store, workspace)
        try:
            yield Parts(
                store=store,
                store_kind=settings.store.url.partition(":")[0],
                disk=lambda: disk_problem(home),
                provider=models.first,
                chosen=minds.provider,
                leave=minds.leave,
                choose=models.name,
                try_model=models.try_model,
                tools=LazyToolset(lambda: equipped().tools),
                skills=lambda: equipped().skills,
                channels=(*platforms.channels, *_own_channels(home)),
                screens=platforms.screens,
                role=platforms.role,
                sink=sink,
                profile=profile_of(settings.terminal.sandbox, hosts),
                mode=settings.approvals.mode,
                answer_s=settings.approvals.answer_s,
                strangers=settings.people.strangers,
                messages_a_minute=settings.people.messages_per_minute,
                media=media_files.FileMediaStore(home / "media"),
                compose=_composer(equipped),
                commands=LazyMapping(lambda: _commands(settings, models, equipped())),
                small=models.small,
                window=minds.window,
                full_at=settings.compression.at,
                keep=settings.compression.keep,
                limits=turn_limits(settings),
                child_limits=child_limits(settings),
                complete_report=lambda reply: equipped().complete_report(reply),
                price=price_of(settings),
                budgets=budgets_of(settings),
                resume=resume_rules(settings),
                busy=settings.gateway.busy,
                on_stop=settings.sessions.on_stop,
                jobs_max=settings.schedules.max_parallel,
            )
        finally:
            await _leave((*platforms.closing, minds.aclose), workspace)


def _own_channels(home: Path) -> Sequence[Channel]:
    """Channels that lead to no person: reviews, and answers of jobs that are only kept."""
    return reviewer.SilentChannel(), kept_answers.KeptAnswers(home / "schedules")


async def _leave(
    closing: Sequence[Callable[[], Awaitable[None]]], workspace: "Lazy[Workspace]"
) -> None:
    """Close connections, and clean old output up after the answer; commands that run continue."""
    for close in closing:
        await close()
    if workspace.is_made:
        await workspace().terminal.sweep()
        await workspace().close()


def _models(home: Path, settings: "Settings", required: bool) -> "app_models.Models":
    return app_models.Models(settings, app_models.LearnedWindows(home), required=required)


def _demand_sound(settings: "Settings") -> None:
    """Check the settings of what is made at its first use, because it cannot complain at the start.
    Raise Misconfigured."""
    agent, allowed = settings.agent, settings.network.allow
    if agent.personality or agent.personalities:
        named = personalities.personalities(agent.personalities)
        personalities.checked_default(agent.personality, named)
    if agent.trusted_dirs:
        disk = workspaces.files_of(settings)
        context_files.trusted_folders(disk, agent.trusted_dirs, Path.home())
    if allowed:
        egress_rules.openings(allowed)


def _equipped(
    home: Path,
    settings: "Settings",
    platforms: Platforms,
    workspace: "Workspace",
    live: LiveSettings,
    choose: Callable[[str], str],
) -> "agent_setup.AgentSetup":
    """Make what only a turn needs; most of our code is behind this import."""
    return agent_setup.set_up_agent(
        home, settings, platforms, workspace, lambda: live().tools, choose
    )


def _composer(
    equipped: Callable[[], "agent_setup.AgentSetup"],
) -> Callable[[Session, bool], Awaitable[Prompt]]:
    async def compose(session: Session, owners: bool) -> Prompt:
        return await equipped().prompts.prompt(session, owners)

    return compose


def _commands(
    settings: "Settings", models: "app_models.Models", equipped: "agent_setup.AgentSetup"
) -> Mapping[str, Sequence[Command]]:
    return {**equipped.commands, **costs.cost_commands(settings, models.context_window)}


def _services(home: Path, settings: "Settings") -> Sequence[Service]:
    """Return the services of a long-running process. Raise Misconfigured."""

    def memories() -> "Memories":
        return agent_setup.memories_of(home, settings)

    services: list[Service] = []
    if any((home / "hooks").glob("*/HOOK.yaml")):
        services.append(hooks_of(home, settings))
    memory = settings.memory
    turns = memory.nudge_turns if memory.enabled else 0
    if turns or settings.skills.nudge_calls:
        pace = reviewer.ReviewPace(turns=turns, calls=settings.skills.nudge_calls)
        services.append(reviewer.Reviewer(Lazy(memories), pace))
    if memory.enabled and memory.provider == "honcho":
        services.append(_honcho(home, settings))
    if settings.schedules.enabled:
        services.append(schedules.scheduler_of(home, settings))
    return services


def _honcho(home: Path, settings: "Settings") -> Service:
    try:
        service_class = honcho_service.HonchoService
    except ModuleNotFoundError as missing:
        fix = f"Run: {how_to_add('honcho')}"
        needs = f"needs the package {missing.name}"
        raise Misconfigured("memory.provider", needs, fix) from missing
    honcho = settings.memory.honcho
    service = service_class(
        base_url=honcho.base_url, api_key=honcho.api_key, workspace=honcho.workspace
    )
    return memory_mirror.HonchoMirror(home / "memories", service, "honcho")


def _granted(home: Path, hosts: Sequence[str]) -> AbstractAsyncContextManager[None]:
    """Run the proxy through which commands reach allowed hosts, if there are any."""
    if not hosts:
        return nullcontext()

    return sandbox_proxy.granted(home, hosts)


def _workspace(
    home: Path, settings: "Settings", inside: str, workdir: Path, sink: "live_secrets.Sink"
) -> "Workspace":
    environ = {**os.environ, "HERMES_HOME": str(home), **({INSIDE: inside} if inside else {})}
    return workspaces.workspace_for(home, settings, workdir, environ=environ, sink=sink)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[:BOOT_CHARS_MAX]
    except FileNotFoundError:
        return ""
