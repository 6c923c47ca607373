"""What the engine knows of this channel, on each of its two sides."""

from hermes.core.channel import Manifest

OWN = Manifest(name="local", on_doubt="same_key")  # a chat that runs an engine of its own
SERVED = Manifest(name="local", on_doubt="same_key", attended=True)  # chats come to a gateway
