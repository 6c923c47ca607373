"""What the engine must know of this channel: people come for their replies."""

from typing import Final

from hermes.core import ids
from hermes.core.channel import Manifest
from hermes.core.ids import SessionKey

PLATFORM: Final = "api"
HINTS: Final = (
    "You are asked by a program over HTTP, which shows your answer in its own way: plain Markdown "
    "is safe, HTML is not. It gets the final answer; say everything that matters there."
)
MANIFEST: Final = Manifest(
    name=PLATFORM, audience="owner", on_doubt="same_key", fetched=True, hints=HINTS
)


def lane_of(name: str) -> SessionKey:
    """The lane behind a name of `X-Hermes-Session-Id`."""
    return SessionKey(str(lane_name(name)))


def lane_name(name: str) -> ids.SessionName:
    return ids.SessionName(PLATFORM, "dm", name)


def name_of(key: SessionKey) -> str:
    """The name that made this lane; one of another channel is named by its key."""
    name = ids.name_of(key)
    return name.chat if name is not None and name == lane_name(name.chat) else key
