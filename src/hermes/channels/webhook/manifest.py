"""What the engine knows of this channel: answers stay in the store unless a route says where."""

from hermes.core.channel import Manifest

MANIFEST = Manifest(name="webhook", fetched=True)
