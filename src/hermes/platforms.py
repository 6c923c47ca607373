"""Which platforms there are, and how each is made from its settings. Part of the composition root.

Only what is configured is imported.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from hermes.core.channel import Channel, Ear, Screen
from hermes.core.errors import Misconfigured
from hermes.core.ids import Isolation
from hermes.core.people import Role, Sender
from hermes.settings import Settings
from hermes.settings.live import LiveSettings
from hermes.views.sandbox import Sandbox, profile_of, python_parts

Raw = Mapping[str, object]


class Platforms(Struct, kw_only=True):
    """The channels of a process, and who may come in by each."""

    channels: list[Channel] = field(default_factory=list)
    ears: list[Ear] = field(default_factory=list)
    screens: dict[str, Screen] = field(default_factory=dict)
    doors: dict[str, Callable[[Sender], Role]] = field(default_factory=dict)
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    inside: str = ""  # what a command that we run is told about where it runs

    def role(self, sender: Sender) -> Role:
        """By what the owner wrote into a setting. Where there is no door, only the owner speaks."""
        door = self.doors.get(sender.address.platform)
        return Role.OWNER if door is None else door(sender)


def platforms_of(home: Path, settings: Settings) -> Platforms:
    """Every platform that is enabled. Only what is used is imported. Raises Misconfigured."""
    from hermes.channels.local.server import LocalServer

    local = LocalServer(home / "gateway.sock")
    platforms = Platforms(channels=[local], ears=[local], inside="gateway")
    for name, raw in settings.platforms.items():
        if name not in _PLATFORMS:
            fix = f"There are: {', '.join(_PLATFORMS)}"
            raise Misconfigured(f"platforms.{name}", "there is no such platform", fix)
        if raw.get("enabled", True) is not False:
            _PLATFORMS[name](platforms, home, settings, raw)
    if any((home / "hooks").glob("*/HOOK.yaml")):
        platforms.ears.append(_hooks(home, settings))
    return platforms


def workspace_of(settings: Settings, workdir: Path) -> Path:
    """The folder in which commands run, and the only one that they change."""
    return Path(settings.terminal.workdir or workdir).expanduser().absolute()


def sandbox_of(
    home: Path, settings: Settings, workdir: Path, environ: Mapping[str, str]
) -> Sandbox:
    """The box around every command. Nothing is tried before the first one needs it."""
    from hermes.skills.places import BUILTIN, UNAPPROVED
    from hermes.terminals.sandbox.choice import Grant
    from hermes.terminals.sandbox.lazy import LazySandbox

    chosen = settings.terminal
    return LazySandbox(
        chosen.sandbox,
        workspace=workspace_of(settings, workdir),
        home=home,
        environ=environ,
        grant=Grant(
            hosts=chosen.allow_hosts,
            readable=(home / "skills", BUILTIN),
            covered=tuple(home / "skills" / name for name in UNAPPROVED),
            settled=chosen.workdir is not None,
        ),
    )


def _hooks(home: Path, settings: Settings) -> Ear:
    from hermes.hooks.ear import Hooks
    from hermes.hooks.run import Boxes

    chosen, workdir = settings.terminal, home / "workspace"
    environ = {**os.environ, "HERMES_HOME": str(home)}
    boxes = Boxes(
        sandbox=sandbox_of(home, settings, workdir, environ),
        profile=profile_of(chosen.sandbox, chosen.allow_hosts),
        workspace=str(workspace_of(settings, workdir)),
        readable=python_parts(sys.prefix, sys.base_prefix),
    )
    return Hooks(home / "hooks", home=home, environ=environ, python=sys.executable, boxes=boxes)


def _add_api(platforms: Platforms, home: Path, settings: Settings, raw: Raw) -> None:
    from hermes.channels.api.server import ApiChannel
    from hermes.channels.api.settings import api_settings, key_now

    live = LiveSettings(home, settings, environ=os.environ)

    def key() -> str:
        now = live()
        return key_now(now.platforms.get("api", {}), secrets=now.secrets)

    parsed = api_settings(raw, secrets=settings.secrets)
    api = ApiChannel(parsed, model=settings.model.name, key=key)
    platforms.channels.append(api)
    platforms.ears.append(api)


def _add_webhook(platforms: Platforms, home: Path, settings: Settings, raw: Raw) -> None:
    from hermes.channels.webhook.server import WebhookChannel
    from hermes.channels.webhook.settings import secret_now, webhook_settings

    live = LiveSettings(home, settings, environ=os.environ)

    def secret(route: str) -> str:
        now = live()
        return secret_now(route, now.platforms.get("webhook", {}), now.secrets)

    parsed = webhook_settings(raw, settings.secrets)
    webhook = WebhookChannel(parsed, memory=home / "webhook", secret=secret)
    platforms.channels.append(webhook)
    platforms.ears.append(webhook)


def _add_telegram(platforms: Platforms, home: Path, settings: Settings, raw: Raw) -> None:
    try:
        from hermes.channels.telegram.client import TelegramChannel
        from hermes.channels.telegram.settings import telegram_settings
    except ModuleNotFoundError as missing:
        fix = "Install it: HERMES_WITH=telegram ./hermes, or pip install 'hermes[telegram]'"
        problem = f"needs the package {missing.name}"
        raise Misconfigured("platforms.telegram", problem, fix) from missing
    telegram = TelegramChannel(
        telegram_settings(raw, settings.secrets),
        memory=home / "telegram",
        isolation=Isolation(groups=settings.sessions.groups, threads=settings.sessions.threads),
    )
    platforms.channels.append(telegram)
    platforms.ears.append(telegram)
    platforms.screens["telegram"] = telegram
    platforms.doors["telegram"] = telegram.role
    platforms.closing.append(telegram.aclose)


_PLATFORMS = {"api": _add_api, "telegram": _add_telegram, "webhook": _add_webhook}
