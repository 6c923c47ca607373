"""A made-up channel with two questions: pigeons fly to a loft, and each ring belongs to one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes.channels.kit.plugin import (
    ChannelParts,
    ChannelPlugin,
    Raw,
    RoleOf,
    SetupCheck,
    SetupOffer,
    SetupQuestion,
)
from hermes.channels.kit.settings import SectionReader
from hermes.channels.local.server import LocalServer
from hermes.core.errors import Misconfigured
from hermes.core.messages import Address
from hermes.settings import Settings

RING = "PIGEON_RING"
CLOSED = "closed"  # no one answers from this loft


@dataclass(frozen=True)
class PigeonSettings:
    loft: str
    ring: str


class PigeonPlugin:
    name = "pigeon"
    title = "the pigeon post"
    docs = "PIGEON.md"
    extra = ""
    packages: tuple[str, ...] = ()
    keys = ("enabled", "loft", "ring")
    folders: tuple[str, ...] = ()
    offer: SetupOffer | None = SetupOffer(ask="Send pigeons?", help="a pigeon")
    questions = (
        SetupQuestion(
            key="loft",
            ask="Which loft",
            where="It is painted over the door",
            option="loft",
            help="where it lives",
            example="north",
        ),
        SetupQuestion(
            key=RING,
            ask="The number on its ring",
            where="Look at its left leg",
            secret=True,
            stand_in="ring-0",
            noun="ring",
            in_section="ring",
            form=r"ring-\w+",
            malformed="does not look like a ring: ring-NUMBER",
            fix="Look at its left leg again",
            checked=True,
            option="ring",
            help="read its ring from standard input",
            missing="A pigeon needs a ring",
            example="what its left leg says",
        ),
    )
    test_message = "Coo."

    def owner_chat(self, raw: Raw) -> Address | None:
        return Address(platform=self.name, chat=str(raw.get("loft", "")))

    def read(self, raw: Raw, secrets: Mapping[str, str]) -> PigeonSettings:
        section = SectionReader(raw, "platforms.pigeon", self.keys)
        section.flag("enabled", default=True)
        loft, ring = section.text("loft", ""), section.text("ring", secrets.get(RING, ""))
        if not loft.isalpha():
            raise Misconfigured("platforms.pigeon.loft", "it has odd letters", "Choose another")
        if not ring:
            raise Misconfigured("platforms.pigeon.ring", "it is not set", "Look at its leg")
        return PigeonSettings(loft, ring)

    def make(self, home: Path, settings: Settings, raw: Raw) -> ChannelParts:
        self.read(raw, settings.secrets)
        sky = LocalServer(home / "pigeon.sock")
        return ChannelParts(channel=sky, receiver=sky)

    def role(self, _raw: Raw, _secrets: Mapping[str, str]) -> RoleOf | None:
        return None

    async def check(self, raw: Raw, secrets: Mapping[str, str]) -> SetupCheck:
        found = self.read(raw, secrets)
        if found.loft == CLOSED:
            return SetupCheck(ok=None, said="the loft is closed", fix="knock")
        if found.ring != f"ring-{found.loft}":
            said = f"the {found.loft} loft has no such ring"
            return SetupCheck(ok=False, said=said, fix=f"hermes config set {RING} -")
        return SetupCheck(ok=True, said=f"it lives in the {found.loft} loft", name="Martha")


PLUGIN: Final[ChannelPlugin] = PigeonPlugin()
