"""The local channel: what is sent goes to a function, which prints it or keeps it."""

from collections.abc import Callable, Sequence

from hermes.core.channel import Manifest
from hermes.core.messages import Reply

MANIFEST = Manifest(name="local", on_doubt="same_key")


class LocalChannel:
    """A person at this terminal sees each reply once: the last line on the screen is theirs."""

    def __init__(self, show: Callable[[Reply, str], None]) -> None:
        self._show = show

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        self._show(reply, chunk)
        return key
