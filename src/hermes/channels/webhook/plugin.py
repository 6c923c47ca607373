"""Webhooks as a `ChannelPlugin`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.channels.kit.plugin import (
    ChannelParts,
    ChannelPlugin,
    Raw,
    RoleOf,
    SetupCheck,
    SetupOffer,
    SetupQuestion,
)
from hermes.channels.webhook.settings import KEYS, WebhookSettings, secret_now, webhook_settings
from hermes.core.messages import Address
from hermes.lazy import LazyModule
from hermes.settings import Settings
from hermes.settings.live import LiveSettings

if TYPE_CHECKING:
    from hermes.channels.webhook import server
else:
    server = LazyModule("hermes.channels.webhook.server")

QUESTIONS = (
    SetupQuestion(
        key="routes",
        ask="Routes: a name, a prompt and a secret each",
        where="docs/WEBHOOKS.md has examples for GitHub and for programs of your own",
    ),
)


class WebhookPlugin:
    name = "webhook"
    title = "webhooks"
    docs = "WEBHOOKS.md"
    extra = ""
    packages: tuple[str, ...] = ()
    keys = KEYS
    folders = ("webhook",)  # which deliveries were seen: a restored home takes none twice
    offer: SetupOffer | None = None  # routes are written by hand
    questions = QUESTIONS
    test_message = ""

    def owner_chat(self, _raw: Raw) -> Address | None:
        return None

    def read(self, raw: Raw, secrets: Mapping[str, str]) -> WebhookSettings:
        return webhook_settings(raw, secrets)

    def make(self, home: Path, settings: Settings, raw: Raw) -> ChannelParts:
        live = LiveSettings(home, settings, environ=os.environ)

        def secret(route: str) -> str:
            now = live()
            return secret_now(route, now.platforms.get(self.name, {}), now.secrets)

        parsed = self.read(raw, settings.secrets)
        webhook = server.WebhookChannel(parsed, memory=home / self.name, secret=secret)
        return ChannelParts(
            channel=webhook,
            receiver=webhook,
            listens=(("platforms.webhook", parsed.host, parsed.port),),
            preflight=webhook.preflight,
        )

    def role(self, _raw: Raw, _secrets: Mapping[str, str]) -> RoleOf | None:
        """Return None: programs write here, and their signature is their only proof."""
        return None

    async def check(self, raw: Raw, secrets: Mapping[str, str]) -> SetupCheck:
        parsed = self.read(raw, secrets)
        return SetupCheck(ok=True, said=f"routes: {', '.join(sorted(parsed.routes))}")


PLUGIN: Final[ChannelPlugin] = WebhookPlugin()
