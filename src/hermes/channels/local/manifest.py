"""What the engine knows of this channel, on each of its two sides."""

from hermes.core.channel import Manifest

HINTS = (
    "You are read in a terminal, as you write: plain text, short lines, few marks. Code in fences; "
    "no HTML, no wide tables. Paths and commands exactly, so that they can be copied."
)
OWN = Manifest(name="local", on_doubt="same_key", hints=HINTS)  # a chat with an engine of its own
SERVED = Manifest(name="local", on_doubt="same_key", attended=True, hints=HINTS)  # of a gateway
