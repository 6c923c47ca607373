"""The border between the gateway and its channels: every failure becomes one of our errors.

A channel wraps another project's library. An unforeseen error of it becomes a ChannelSilent ("it
may have arrived"), so that one odd answer cannot stop all sending.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from hermes.core.channel import Channel, IsReceipt, Manifest, Screen
from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused, ChannelSilent
from hermes.core.ids import MessageId
from hermes.core.messages import Address, Media, Reply
from hermes.gateway.supervise import naming

AGAIN_S = 2.0

Note = Callable[[str, str], None]  # a platform, and why a send failed; "": one got through


@contextmanager
def _guard(platform: str, act: str) -> Iterator[None]:
    def doubtful(why: str) -> ChannelSilent:
        return ChannelSilent(f"{act} broke: {why}", delay_s=AGAIN_S)

    with naming(f"{platform}: {act}", doubtful):
        yield


@contextmanager
def _sending(platform: str, note: Note) -> Iterator[None]:
    """Record whether the platform accepts messages. A refusal or a pause of one chat says nothing
    about the platform."""
    try:
        with _guard(platform, "sending"):
            yield
    except ChannelBusy:
        raise
    except ChannelDown as down:
        note(platform, str(down))
        raise
    note(platform, "")


class GuardedChannel(Struct, frozen=True):
    """A Channel that raises only our own errors."""

    channel: Channel
    note: Note

    @property
    def manifest(self) -> Manifest:
        return self.channel.manifest

    def render(self, text: str) -> Sequence[str]:
        def never(why: str) -> ChannelRefused:
            return ChannelRefused(f"the text cannot be rendered: {why}")

        with naming(f"{self.manifest.name}: rendering", never):
            return self.channel.render(text)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        with _sending(self.manifest.name, self.note):
            return await self.channel.send(reply, chunk, key=key)


class GuardedScreen(Struct, frozen=True):
    """A Screen that raises only our own errors."""

    name: str
    screen: Screen
    note: Note

    async def draft(self, address: Address, text: str) -> str:
        with _sending(self.name, self.note):
            return await self.screen.draft(address, text)

    def draft_text(self, text: str) -> str:
        with _guard(self.name, "a draft's text"):
            return self.screen.draft_text(text)

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        with _sending(self.name, self.note):
            return await self.screen.change(reply, receipt, chunk)

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        with _guard(self.name, "a draft"):
            await self.screen.redraft(address, receipt, text)

    async def remove(self, address: Address, receipt: str) -> None:
        with _guard(self.name, "the removal of a draft"):
            await self.screen.remove(address, receipt)

    async def typing(self, address: Address) -> None:
        with _guard(self.name, "the typing sign"):
            await self.screen.typing(address)

    async def react(self, address: Address, message: MessageId, sign: str) -> None:
        with _guard(self.name, "a reaction"):
            await self.screen.react(address, message, sign)

    async def attach(
        self, reply: Reply, media: Media, content: bytes, *, key: str, caption: str = ""
    ) -> str:
        with _sending(self.name, self.note):
            return await self.screen.attach(reply, media, content, key=key, caption=caption)

    def end_of(self, address: Address) -> str:
        with _guard(self.name, "the end of a chat"):
            return self.screen.end_of(address)

    async def find(
        self, address: Address, chunks: Sequence[str], *, behind: str, known: IsReceipt
    ) -> str:
        with _guard(self.name, "looking"):
            return await self.screen.find(address, chunks, behind=behind, known=known)

    async def find_file(
        self, address: Address, media: Media, size: int, *, key: str, behind: str, known: IsReceipt
    ) -> str:
        with _guard(self.name, "looking"):
            return await self.screen.find_file(
                address, media, size, key=key, behind=behind, known=known
            )
