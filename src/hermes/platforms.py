"""Which platforms there are, and how each is made from its settings. Part of the composition root.

Only what is configured is imported.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hermes.core.channel import Channel, Ear, Screen
from hermes.core.errors import Misconfigured
from hermes.core.ids import Isolation
from hermes.core.messages import Address
from hermes.settings import Settings

Raw = Mapping[str, object]


@dataclass(kw_only=True)
class Platforms:
    """The channels of a process, and who may come in by each."""

    channels: list[Channel] = field(default_factory=list)
    ears: list[Ear] = field(default_factory=list)
    screens: dict[str, Screen] = field(default_factory=dict)
    doors: dict[str, Callable[[Address, str], bool]] = field(default_factory=dict)
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    inside: str = ""  # what a command that we run is told about where it runs

    def allowed(self, address: Address, sender: str) -> bool:
        door = self.doors.get(address.platform)
        return door is None or door(address, sender)


def platforms_of(home: Path, settings: Settings) -> Platforms:
    """Every platform that is enabled. Only what is used is imported. Raises Misconfigured."""
    from hermes.channels.local.server import LocalServer
    from hermes.hooks.ear import Hooks

    local = LocalServer(home / "gateway.sock")
    platforms = Platforms(channels=[local], ears=[local], inside="gateway")
    for name, raw in settings.platforms.items():
        if name not in _PLATFORMS:
            fix = f"There are: {', '.join(_PLATFORMS)}"
            raise Misconfigured(f"platforms.{name}", "there is no such platform", fix)
        if raw.get("enabled", True) is not False:
            _PLATFORMS[name](platforms, home, settings, raw)
    if any((home / "hooks").glob("*/HOOK.yaml")):
        hooks = Hooks(home / "hooks", home=home, environ=os.environ, python=sys.executable)
        platforms.ears.append(hooks)
    return platforms


def _add_api(platforms: Platforms, _home: Path, settings: Settings, raw: Raw) -> None:
    from hermes.channels.api.server import ApiChannel
    from hermes.channels.api.settings import api_settings

    api = ApiChannel(api_settings(raw, secrets=settings.secrets), model=settings.model.name)
    platforms.channels.append(api)
    platforms.ears.append(api)


def _add_webhook(platforms: Platforms, _home: Path, settings: Settings, raw: Raw) -> None:
    from hermes.channels.webhook.server import WebhookChannel
    from hermes.channels.webhook.settings import webhook_settings

    webhook = WebhookChannel(webhook_settings(raw, settings.secrets))
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
    platforms.doors["telegram"] = telegram.allows
    platforms.closing.append(telegram.aclose)


_PLATFORMS = {"api": _add_api, "telegram": _add_telegram, "webhook": _add_webhook}
