"""The platforms that exist, and how each is made from its settings. Part of the composition root.

Only what is configured is imported.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hermes.channels.kit.plugin import ChannelParts, Held, Raw, RoleOf, TakeJobs
from hermes.channels.kit.plugin import ChannelPlugin as ChannelPlugin
from hermes.channels.kit.plugin import SetupCheck as SetupCheck
from hermes.channels.kit.plugin import SetupOffer as SetupOffer
from hermes.channels.kit.plugin import SetupQuestion as SetupQuestion
from hermes.core.channel import Channel, Receiver, Screen, Service
from hermes.core.errors import Misconfigured
from hermes.core.people import Role, Sender
from hermes.ports.sandbox import profile_of, python_parts
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.views.jobs import JobActs

# Each is a folder of channels/ with a `plugin.py`. A new platform is one more word here.
CHANNELS: tuple[str, ...] = ("api", "telegram", "webhook")


class Platforms(Struct, kw_only=True):
    """The channels of a process, and who may use each."""

    channels: list[Channel] = field(default_factory=list)
    receivers: list[Receiver] = field(default_factory=list)
    screens: dict[str, Screen] = field(default_factory=dict)
    roles: dict[str, RoleOf] = field(default_factory=dict)
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    listens: list[tuple[str, str, int]] = field(default_factory=list)  # section, host, port
    preflights: list[Callable[[Held], Awaitable[None]]] = field(default_factory=list)
    job_takers: list[TakeJobs] = field(default_factory=list)
    absent: Callable[[str], RoleOf | None] = lambda _name: None  # of one that is not connected here
    inside: str = ""  # what a command that we run is told about where it runs

    def give_jobs(self, jobs: Callable[[], "JobActs"]) -> None:
        """Give the channels that manage jobs what they need for it."""
        for take in self.job_takers:
            take(jobs)

    def role(self, sender: Sender) -> Role:
        """Return the role by the owner's settings. On a platform of the owner's alone, only the
        owner speaks. On a platform that was removed, a known sender keeps the least rights."""
        platform = sender.address.platform
        role_of = self.roles.get(platform) or self.absent(platform)
        if role_of is not None:
            return role_of(sender)
        manifests = (channel.manifest for channel in self.channels)
        owned = any(each.name == platform and each.audience == "owner" for each in manifests)
        return Role.OWNER if owned else Role.MEMBER


def platforms_of(home: Path, settings: Settings) -> Platforms:
    """Make every enabled platform. Only what is used is imported. Raise Misconfigured."""
    from hermes.channels.local.server import LocalServer

    local = LocalServer(home / "gateway.sock")
    platforms = Platforms(
        channels=[local], receivers=[local], absent=roles_in(settings), inside="gateway"
    )
    for name, raw in settings.platforms.items():
        if name not in CHANNELS:
            fix = f"Choose one of: {', '.join(CHANNELS)}"
            raise Misconfigured(f"platforms.{name}", "there is no such platform", fix)
        if raw.get("enabled", True) is not False:
            _add(platforms, name, _made(plugin_of(name), home, settings, raw))
    return platforms


def plugin_of(name: str) -> ChannelPlugin:
    """Return the plugin of a platform. Its `plugin.py` imports nothing heavy."""
    from importlib import import_module

    plugin: ChannelPlugin = import_module(f"hermes.channels.{name}.plugin").PLUGIN
    return plugin


def plugins() -> tuple[ChannelPlugin, ...]:
    """Return the plugin of every platform that can be set up."""
    return tuple(map(plugin_of, CHANNELS))


def roles_in(settings: Settings) -> Callable[[str], RoleOf | None]:
    """Return how a platform's settings decide roles, also where it is not connected: a terminal may
    continue what was begun there."""

    def role_of(name: str) -> RoleOf | None:
        raw = settings.platforms.get(name)
        if raw is None or name not in CHANNELS:
            return None
        plugin = plugin_of(name)
        try:
            return plugin.role(raw, {**_stand_ins(plugin), **settings.secrets})
        except Misconfigured:
            return None

    return cache(role_of)


def platform_names() -> tuple[str, ...]:
    return CHANNELS


def has_packages(name: str) -> bool:
    """Return True if the packages that a platform needs are installed. None of them is imported."""
    from importlib import invalidate_caches
    from importlib.util import find_spec

    invalidate_caches()
    return all(find_spec(package) is not None for package in plugin_of(name).packages)


def backup_folders() -> tuple[str, ...]:
    """Return the folders of a home in which platforms keep state."""
    return tuple(folder for plugin in plugins() for folder in plugin.folders)


def section_problem(name: str, raw: Raw, secrets: Mapping[str, str]) -> Misconfigured | None:
    """Return the first problem that the platform's reader finds. A missing secret does not count,
    because it may be set later."""
    plugin = plugin_of(name)
    try:
        plugin.read(raw, {**_stand_ins(plugin), **secrets})
    except Misconfigured as problem:
        return problem
    return None


async def setup_check(name: str, raw: Raw, secrets: Mapping[str, str]) -> SetupCheck:
    """Ask the platform about this section, in one call. Raise Misconfigured."""
    return await plugin_of(name).check(raw, secrets)


def secret_named(name: str) -> tuple[ChannelPlugin, SetupQuestion] | None:
    """Return the platform and question whose secret has this name in .env."""
    for plugin in plugins():
        for question in plugin.questions:
            if question.secret and question.key == name:
                return plugin, question
    return None


def secret_at(path: tuple[str, ...]) -> tuple[ChannelPlugin, SetupQuestion] | None:
    """Return the platform and question whose secret is this key of a section."""
    if len(path) != 3 or path[0] != "platforms" or path[1] not in CHANNELS:
        return None
    plugin = plugin_of(path[1])
    for question in plugin.questions:
        if question.secret and question.in_section == path[2]:
            return plugin, question
    return None


def _stand_ins(plugin: ChannelPlugin) -> Mapping[str, str]:
    return {each.key: each.stand_in for each in plugin.questions if each.stand_in}


def _made(plugin: ChannelPlugin, home: Path, settings: Settings, raw: Raw) -> ChannelParts:
    try:
        return plugin.make(home, settings, raw)
    except ModuleNotFoundError as missing:
        from hermes.installed import how_to_add

        fix = f"Run: {how_to_add(plugin.extra)}"
        problem = f"needs the package {missing.name}"
        raise Misconfigured(f"platforms.{plugin.name}", problem, fix) from missing


def _add(platforms: Platforms, name: str, parts: ChannelParts) -> None:
    platforms.channels.append(parts.channel)
    platforms.receivers.append(parts.receiver)
    platforms.listens += parts.listens
    if parts.screen is not None:
        platforms.screens[name] = parts.screen
    if parts.role is not None:
        platforms.roles[name] = parts.role
    if parts.close is not None:
        platforms.closing.append(parts.close)
    if parts.preflight is not None:
        platforms.preflights.append(parts.preflight)
    if parts.take_jobs is not None:
        platforms.job_takers.append(parts.take_jobs)


def hooks_of(home: Path, settings: Settings) -> Service:
    from hermes.app.workspaces import sandbox_of, workspace_of
    from hermes.hooks.run import Boxes
    from hermes.hooks.service import Hooks

    chosen, workdir = settings.terminal, home / "workspace"
    environ = {**os.environ, "HERMES_HOME": str(home)}
    boxes = Boxes(
        sandbox=sandbox_of(home, settings, workdir, environ),
        profile=profile_of(chosen.sandbox, chosen.allow_hosts),
        workspace=str(workspace_of(settings, workdir)),
        readable=python_parts(sys.prefix, sys.base_prefix),
    )
    return Hooks(home / "hooks", home=home, environ=environ, python=sys.executable, boxes=boxes)


def known_platforms() -> tuple[str, ...]:
    """Return the names of all platforms that can be set up."""
    return CHANNELS
