"""What the engine knows of this channel, on each of its two sides."""

from msgspec.structs import replace

from hermes.core.channel import Manifest

HINTS = (
    "You are read in a terminal, as you write: plain text, short lines, few marks. Code in fences; "
    "no HTML, no wide tables. Paths and commands exactly, so that they can be copied."
)
# A chat with an engine of its own, and one of a gateway.
OWN = Manifest(name="local", audience="owner", on_doubt="same_key", hints=HINTS)
SERVED = replace(OWN, attended=True)
