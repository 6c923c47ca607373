"""The nodes: which processes are alive, and what only one of them may hold."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.core.ids import NodeId


class Boot(Struct, frozen=True):
    node: NodeId
    started_at: float
    state: Literal["alive", "left", "died"]


class Nodes(Protocol):
    """Which processes are alive. A node that is buried can write nothing more."""

    async def join(self, node: NodeId, *, seat: str = "") -> None:
        """Register and begin the lease; the process's death ends it at once where the store can
        see that (a file lock, a connection), else after the lease time. `seat` says which gateway
        (of which home, on which machine) this is a boot of; a chat has none."""

    async def boots(self, seat: str, *, limit: int) -> Sequence[Boot]:
        """The latest boots of this gateway, newest first."""

    async def hold(self, node: NodeId, name: str) -> bool:
        """Take, or keep, what only one living node may have (a bot's connection). It is free
        again when the node leaves or is buried."""

    async def beat(self, node: NodeId) -> bool:
        """Renew the lease, bury the dead. False when this node itself has been buried."""

    async def leave(self, node: NodeId) -> None:
        """Give everything up, in order."""

    async def wake(self, timeout_s: float) -> None:
        """Return when another process may have written something for us, or after the time-out."""
