"""The HTTP API as a `ChannelPlugin`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.channels.api.settings import KEYS, SECRET, ApiSettings, api_settings, key_now
from hermes.channels.kit.plugin import (
    ChannelParts,
    ChannelPlugin,
    Raw,
    RoleOf,
    SetupCheck,
    SetupOffer,
    SetupQuestion,
)
from hermes.core.messages import Address
from hermes.lazy import LazyModule
from hermes.settings import Settings
from hermes.settings.live import LiveSettings

if TYPE_CHECKING:
    from hermes.channels.api import server
else:
    server = LazyModule("hermes.channels.api.server")

OFFER = SetupOffer(
    ask="Turn on the OpenAI-compatible HTTP API?",
    help="an OpenAI-compatible HTTP API",
    default=True,
)
QUESTIONS = (
    SetupQuestion(
        key=SECRET,
        ask="A key for the clients of the API",
        where="Run: openssl rand -hex 32",
        secret=True,
        stand_in="a-key-to-be-set",
        noun="key",
        in_section="key",
        made=f"A key was made. Clients need it; it is {SECRET} in .env",
        example="a long random text",
    ),
    SetupQuestion(
        key="port",
        ask="Port",
        where="Any free port; 8642 is usual",
        kind="port",
        needed=False,
        default="8642",
        option="port",
        help="its port",
        example="8642",
    ),
)


class ApiPlugin:
    name = "api"
    title = "the HTTP API"
    docs = "API.md"
    extra = ""
    packages: tuple[str, ...] = ()
    keys = KEYS
    folders: tuple[str, ...] = ()
    offer = OFFER
    questions = QUESTIONS
    test_message = ""

    def owner_chat(self, _raw: Raw) -> Address | None:
        return None

    def read(self, raw: Raw, secrets: Mapping[str, str]) -> ApiSettings:
        return api_settings(raw, secrets=secrets)

    def make(self, home: Path, settings: Settings, raw: Raw) -> ChannelParts:
        live = LiveSettings(home, settings, environ=os.environ)

        def key() -> str:
            now = live()
            return key_now(now.platforms.get(self.name, {}), secrets=now.secrets)

        parsed = self.read(raw, settings.secrets)
        api = server.ApiChannel(parsed, model=settings.model.name, key=key)
        listens = (("platforms.api", parsed.host, parsed.port),)
        return ChannelParts(
            channel=api,
            receiver=api,
            listens=listens,
            preflight=api.preflight,
            take_jobs=api.take_jobs,
        )

    def role(self, _raw: Raw, _secrets: Mapping[str, str]) -> RoleOf | None:
        """Return None: the key makes every client the owner."""
        return None

    async def check(self, raw: Raw, secrets: Mapping[str, str]) -> SetupCheck:
        parsed = self.read(raw, secrets)
        return SetupCheck(ok=True, said=f"it will listen on {parsed.host} port {parsed.port}")


PLUGIN: Final[ChannelPlugin] = ApiPlugin()
