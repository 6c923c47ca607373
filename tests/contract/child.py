"""A process of its own on the store under test, told what to do line by line.

    python -m tests.contract.child STORE LEASE_S

Each line on its input is a JSON list, a verb and its arguments; each line of output is the answer,
or `["error", class, text]`.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from itertools import count

from hermes.core.errors import HermesError
from hermes.core.ids import NodeId, ReplyId
from hermes.core.store import Store
from tests.contract.approvals import invite, known
from tests.contract.places import (
    BEAT_S,
    Owner,
    begin,
    conversation,
    lane,
    message,
    open_place,
    own,
)


class Child:
    """The verbs. A lane that was claimed is kept as its worker would keep it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.owners: dict[str, Owner] = {}
        self.beating: asyncio.Task[None] | None = None
        self.is_still = False

    def verbs(self) -> Mapping[str, Callable[..., Awaitable[object]]]:
        return {
            "join": self.join,
            "still": self.still,
            "beat": lambda node: self.store.nodes.beat(NodeId(node)),
            "begin": self.begin,
            "own": self.own,
            "accept": self.accept,
            "note": lambda chat, text: self.owners[chat].note(text),
            "rest": lambda chat: self.owners[chat].rest(),
            "start": lambda chat: self.owners[chat].start(chat),
            "finish": lambda chat: self.owners[chat].finish(chat),
            "sending": lambda reply, node: self.store.outbox.sending(
                ReplyId(reply), node=NodeId(node)
            ),
            "hold": lambda node, name: self.store.nodes.hold(NodeId(node), name),
            "move_cursor": lambda node, text: self.store.cursors.move_cursor(
                "plaza", "bot", "events", text, node=NodeId(node)
            ),
            "leave": lambda node: self.store.nodes.leave(NodeId(node)),
            "release": lambda node, chat: self.store.journal.release(
                [lane(chat)], node=NodeId(node)
            ),
            "wake": self.store.nodes.wake,
            "flood": self.flood,
            "redeem": self.redeem,
            "invite": lambda digest: self.store.trust.invite(invite(digest)),
            "let_in": self.let_in,
        }

    async def join(self, node: str, seat: str = "") -> None:
        await self.store.nodes.join(NodeId(node), seat=seat)
        self.beating = asyncio.create_task(self._beat(NodeId(node)))

    async def _beat(self, node: NodeId) -> None:
        living = True
        while living and not self.is_still:
            living = await self.store.nodes.beat(node)
            await asyncio.sleep(BEAT_S)

    async def still(self) -> None:
        """Beat no more: a process that is frozen in the middle of a write holds up all others."""
        self.is_still = True
        if self.beating is not None:
            await self.beating

    async def begin(self, node: str, chat: str) -> int:
        self.owners[chat] = await begin(self.store, NodeId(node), chat)
        return self.owners[chat].fence.epoch

    async def own(self, node: str, chat: str) -> int:
        self.owners[chat] = await own(self.store, NodeId(node), chat)
        return self.owners[chat].fence.epoch

    async def accept(self, number: int, chat: str) -> bool:
        accepted = await self.store.journal.accept(message(number, chat), opens=conversation(chat))
        return accepted.fresh

    async def redeem(self, digest: str, person: str) -> str | None:
        let_in = await self.store.trust.redeem(digest, known(person))
        return None if let_in is None else let_in.id

    async def let_in(self, first: int) -> None:
        """Invites and redeems without end; each person is said once they are let in."""
        for number in count(first):
            await self.store.trust.invite(invite(f"i{number}"))
            say(await self.redeem(f"i{number}", f"p{number}"))

    async def flood(self, chat: str) -> None:
        """Notes without end; each is said on the output once it is durable."""
        number = 0
        while True:
            say(await self.owners[chat].note(str(number)))
            number += 1


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def main(place: str, lease_s: str) -> None:
    store = await open_place(place, lease_s=float(lease_s))
    verbs = Child(store).verbs()
    say("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        verb, *arguments = json.loads(line)
        try:
            say(await verbs[verb](*arguments))
        except HermesError as error:
            say(["error", type(error).__name__, str(error)])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
