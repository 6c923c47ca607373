"""The facts of this channel: clients fetch their replies."""

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
    """Return the session key for a name of `X-Hermes-Session-Id`."""
    return SessionKey(str(lane_name(name)))


def lane_name(name: str) -> ids.SessionName:
    return ids.SessionName(PLATFORM, "dm", name)


def name_of(key: SessionKey) -> str:
    """Return the client's name for a session; the key itself for a session of another channel."""
    name = ids.name_of(key)
    return name.chat if name is not None and name == lane_name(name.chat) else key
