"""What the engine must know of this channel: people come for their replies."""

from typing import Final

from hermes.core.channel import Manifest
from hermes.core.ids import SessionKey, session_key

PLATFORM: Final = "api"
HINTS: Final = (
    "You are asked by a program over HTTP, which shows your answer in its own way: plain Markdown "
    "is safe, HTML is not. It gets the final answer; say everything that matters there."
)
MANIFEST: Final = Manifest(name=PLATFORM, on_doubt="same_key", fetched=True, hints=HINTS)

_LANES: Final = session_key(PLATFORM, "dm", "") + ":"


def lane_of(name: str) -> SessionKey:
    """The lane behind a name of `X-Hermes-Session-Id`."""
    return session_key(PLATFORM, "dm", name)


def name_of(key: SessionKey) -> str:
    """The name that made this lane; one of another channel is named by its key."""
    if not key.startswith(_LANES):
        return key
    return key.removeprefix(_LANES).replace("%3A", ":").replace("%25", "%")
