"""Tell a chat's session what another session sent to that chat.

The answer of a webhook, a schedule or a background turn goes to a chat that has a conversation of
its own. A person who replies there must be understood.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.directory import MIRRORED, relay, target_of
from hermes.core.ids import platform_of
from hermes.core.messages import Inbound, Reply
from hermes.core.people import derived
from hermes.core.store import Accepted, Library

CHATS_MAX = 1_000


class CrossPost(Struct, frozen=True, kw_only=True):
    library: Library
    accept: Callable[[Inbound], Awaitable[Accepted]]
    clock: Callable[[], float]

    async def reflect(self, reply: Reply) -> None:
        """Store the cross-post before the receipt. After a crash it has the same id."""
        if platform_of(reply.session) == reply.address.platform or reply.kind != "answer":
            return
        address = reply.address
        thread = f":{address.thread}" if address.thread else ""
        name = f"{address.platform}:{address.chat}{thread}"
        target = target_of(name, await self.library.chats(limit=CHATS_MAX), ())
        said = relay(target, reply.text, account="mirror", id_=str(reply.id), at=self.clock())
        await self.accept(derived(replace(said, labels=(MIRRORED, *reply.labels))))
