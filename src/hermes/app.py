"""What can be done with a home: a chat, a gateway, something to send. The composition root's front.

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
from hermes.core.budget import Budgets, Limits
from hermes.core.channel import Command, Ear
from hermes.core.errors import Misconfigured
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Reply, Usage
from hermes.core.rules import ResumeRules
from hermes.core.session import Session
from hermes.core.signals import Emit
from hermes.core.store import MediaShelf, Store
from hermes.engine import LEASE_S, Parts, attended, build, new_id, serving
from hermes.gateway.serve import Serving
from hermes.gateway.service import Gateway
from hermes.later import Later, LaterMapping, LaterSequence
from hermes.platforms import Platforms, platforms_of, sandbox_of
from hermes.views.sandbox import profile_of

if TYPE_CHECKING:
    from hermes.channels.local.client import Attached
    from hermes.equipment import Equipment
    from hermes.models import Models
    from hermes.settings import Settings
    from hermes.terminals.local import LocalTerminal
    from hermes.views.memory import Memories

BOOT_CHARS_MAX = 20_000
CALLS = "calls"  # the folder of what commands leave
INSIDE = "HERMES_TURN"  # set for commands that the gateway runs


class App(Struct, frozen=True, kw_only=True):
    gateway: Gateway
    store: Store
    media: MediaShelf
    new_id: Callable[[], str]


@asynccontextmanager
async def store_only(home: Path, settings: "Settings") -> AsyncIterator[Store]:
    """The store for listings; no engine, no model."""
    store = await _open_store(home, settings)
    try:
        yield store
    finally:
        await store.upkeep.close()


async def note_settings(store: Store, home: Path, settings: "Settings", *, by: str) -> None:
    """What was set otherwise since the last time is in the audit log before it counts."""
    from hermes.settings.record import in_force, note_changes

    now = in_force(home, settings, _audit_key(home, settings))
    await note_changes(store.audit, home, now, by=by, at=time.time())


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
        await note_settings(parts.store, home, settings, by="a chat that begins")
        gateway = build(replace(parts, emit=emit))
        yield App(gateway=gateway, store=parts.store, media=parts.media, new_id=new_id)


@asynccontextmanager
async def inside(
    home: Path, settings: "Settings", *, workdir: Path
) -> AsyncIterator[Callable[[], Awaitable["Attached | None"]]]:
    """An engine of our own on this home, spoken to as one that runs beside us."""
    from hermes.channels.local.client import Attached
    from hermes.channels.local.server import LocalServer

    local = LocalServer(home / "gateway.sock")  # nobody else comes: it never listens
    own = _parts(home, settings, Platforms(channels=[local]), workdir)
    async with own as parts, attended(serving(parts)) as door:

        async def attach() -> "Attached | None":
            return await Attached.by(await local.welcome(door), media=parts.media)

        try:
            yield attach
        finally:
            await local.leave()


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
    ears = (*platforms.ears, *_attentive(home, settings))
    async with _parts(home, settings, platforms, workdir) as parts:
        await note_settings(parts.store, home, settings, by="the gateway that starts")
        seat = f"{socket.gethostname()}:{home}"
        boot_text = _text_of(home / "BOOT.md")
        yield serving(parts, ears=ears, seat=seat, boot_text=boot_text)


@asynccontextmanager
async def _parts(
    home: Path, settings: "Settings", platforms: Platforms, workdir: Path
) -> AsyncIterator[Parts]:
    from hermes.memory.nudge import Unsaid
    from hermes.models import Models
    from hermes.secrets.live import sink_of
    from hermes.secrets.process import no_dumps
    from hermes.stores.media import FileShelf

    no_dumps()
    models = Models(settings)
    hosts = settings.terminal.allow_hosts
    terminal = Later(lambda: _terminal(home, settings, platforms.inside, workdir))
    _demand_sound(settings)
    equipped = Later(lambda: _equipped(home, settings, platforms, terminal(), workdir))
    async with store_only(home, settings) as store, _granted(home, hosts):
        if any((home / CALLS).glob("*")):
            await _end_strays(store, terminal())
        try:
            yield Parts(
                store=store,
                store_kind=settings.store.url.partition(":")[0],
                provider=models.first,
                chosen=models.provider,
                choose=models.name,
                tools=LaterSequence(lambda: equipped().tools),
                skills=lambda: equipped().shelf,
                channels=(*platforms.channels, Unsaid()),
                screens=platforms.screens,
                role=platforms.role,
                sink=sink_of(home, settings),
                profile=profile_of(settings.terminal.sandbox, hosts),
                mode=settings.approvals.mode,
                answer_s=settings.approvals.answer_s,
                strangers=settings.people.strangers,
                messages_a_minute=settings.people.messages_per_minute,
                media=FileShelf(home / "media"),
                compose=_composer(equipped),
                commands=LaterMapping(lambda: _commands(settings, models, equipped())),
                small=models.small,
                window=models.window,
                full_at=settings.compression.at,
                keep=settings.compression.keep,
                limits=Limits(
                    steps_max=settings.agent.steps_max, tokens_max=settings.agent.tokens_max
                ),
                price=_price(settings),
                budgets=_budgets(settings),
                resume=_resume(settings),
                busy=settings.gateway.busy,
                on_stop=settings.sessions.on_stop,
            )
        finally:
            for close in (*platforms.closing, models.aclose):
                await close()
            if terminal.is_made:
                await terminal().sweep()  # of old output, after the answer; what runs goes on
                await terminal().close()


def _demand_sound(settings: "Settings") -> None:
    """What is made at its first use cannot complain when the process starts: what may be wrong with
    its settings is looked at here. Raises Misconfigured."""
    agent, allowed = settings.agent, settings.network.allow
    if agent.personality or agent.personalities:
        from hermes.context.personalities import checked_default, personalities

        checked_default(agent.personality, personalities(agent.personalities))
    if agent.trusted_dirs:
        from hermes.context.files import trusted_folders

        trusted_folders(agent.trusted_dirs, Path.home())
    if allowed:
        from hermes.egress.rules import openings

        openings(allowed)


def _equipped(
    home: Path,
    settings: "Settings",
    platforms: Platforms,
    terminal: "LocalTerminal",
    workdir: Path,
) -> "Equipment":
    """What only a turn needs; most of our code is behind this import."""
    from hermes.equipment import equipment

    return equipment(home, settings, platforms, terminal, workdir)


def _composer(
    equipped: Callable[[], "Equipment"],
) -> Callable[[Session, bool], Awaitable[Prompt]]:
    async def compose(session: Session, owners: bool) -> Prompt:
        return await equipped().prompts.prompt(session, owners)

    return compose


def _commands(
    settings: "Settings", models: "Models", equipped: "Equipment"
) -> Mapping[str, Sequence[Command]]:
    from hermes.costs import cost_commands

    return {**equipped.commands, **cost_commands(settings, models.window)}


def _price(settings: "Settings") -> Callable[[str, Usage, int], float | None]:
    def pricing() -> Callable[[str, Usage, int], float | None]:
        from hermes.costs import pricing

        return pricing(settings)

    made = Later(pricing)

    def price(model: str, usage: Usage, calls: int) -> float | None:
        return made()(model, usage, calls)

    return price


def _attentive(home: Path, settings: "Settings") -> Sequence[Ear]:
    """Those who look back at conversations, in a process that stays. Raises Misconfigured."""

    def memories() -> "Memories":
        from hermes.equipment import memories_of

        return memories_of(home, settings)

    ears: list[Ear] = []
    memory = settings.memory
    turns = memory.nudge_turns if memory.enabled else 0
    if turns or settings.skills.nudge_calls:
        from hermes.memory.nudge import Nudges, Pace

        pace = Pace(turns=turns, calls=settings.skills.nudge_calls)
        ears.append(Nudges(Later(memories), pace))
    if memory.enabled and memory.provider == "honcho":
        ears.append(_honcho(home, settings))
    return ears


def _honcho(home: Path, settings: "Settings") -> Ear:
    from hermes.memory.mirror import Mirror

    try:
        from hermes.memory.honcho import HonchoService
    except ModuleNotFoundError as missing:
        fix = "Install it: pip install 'hermes[honcho]'"
        needs = f"needs the package {missing.name}"
        raise Misconfigured("memory.provider", needs, fix) from missing
    honcho = settings.memory.honcho
    service = HonchoService(
        base_url=honcho.base_url, api_key=honcho.api_key, workspace=honcho.workspace
    )
    return Mirror(home / "memories", service, "honcho")


def _granted(home: Path, hosts: Sequence[str]) -> AbstractAsyncContextManager[None]:
    """The way out for commands, where there is one."""
    if not hosts:
        return nullcontext()
    from hermes.terminals.sandbox.proxy import granted

    return granted(home, hosts)


async def _end_strays(store: Store, terminal: "LocalTerminal") -> None:
    """Commands that run for turns which have ended."""
    for call in await terminal.strays():
        if await _is_over(store, call):
            await terminal.stop(call, "stopped")


def _terminal(home: Path, settings: "Settings", inside: str, workdir: Path) -> "LocalTerminal":
    from hermes.terminals.local import LocalTerminal

    environ = {**os.environ, "HERMES_HOME": str(home), **({INSIDE: inside} if inside else {})}
    return LocalTerminal(
        home / CALLS,
        environ=environ,
        sandbox=sandbox_of(home, settings, workdir, environ),
        usual=profile_of(settings.terminal.sandbox, settings.terminal.allow_hosts),
    )


def _resume(settings: "Settings") -> ResumeRules:
    resume = settings.gateway.resume
    return ResumeRules(
        auto=resume.auto, freshness_s=resume.freshness_s, attempts_max=resume.attempts_max
    )


def _budgets(settings: "Settings") -> Budgets:
    budgets = settings.budgets
    return Budgets(
        session_tokens=budgets.session_tokens,
        person_day_tokens=budgets.person_day_tokens,
        day_tokens=budgets.day_tokens,
        day_cost=budgets.day_cost,
        automation_share=budgets.automation_share,
    )


async def _is_over(store: Store, call: CallId) -> bool:
    """Did the turn end, and its process die before it could end the command as well?"""
    turn = await store.library.turn(TurnId(call.rpartition("-")[0]))
    return turn is None or turn.state in ("answered", "failed", "stopped")


async def _open_store(home: Path, settings: "Settings") -> Store:
    url = settings.store.url
    if url == "sqlite":
        from hermes.stores.sqlite import open_sqlite

        return await open_sqlite(
            home / "hermes.db",
            clock=time.time,
            lease_s=LEASE_S,
            audit_key=_audit_key(home, settings),
        )
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from hermes.stores.postgres import open_postgres
        except ModuleNotFoundError as missing:
            fix = "Install it: pip install 'hermes[postgres]'"
            raise Misconfigured("store.url", f"needs the package {missing.name}", fix) from missing
        key = _audit_key(home, settings)
        return await open_postgres(url, clock=time.time, lease_s=LEASE_S, audit_key=key)
    raise Misconfigured("store.url", f"{url!r} is unknown", "Use sqlite or postgresql://…")


def _audit_key(home: Path, settings: "Settings") -> bytes:
    from hermes.stores.audit_key import audit_key

    return audit_key(home, settings.secrets.get("HERMES_AUDIT_KEY", ""))


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[:BOOT_CHARS_MAX]
    except FileNotFoundError:
        return ""
