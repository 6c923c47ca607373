"""A session with a history, written as the engine would have written it."""

import time
from pathlib import Path

from hermes.core import events as e
from hermes.core.ids import MessageId, NodeId, ReplyId, SessionId, TurnId, session_key
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.projection import commit_of
from hermes.core.session import ref
from hermes.core.store import Fence
from hermes.stores.sqlite import open_sqlite

BYTES = 200_000  # of all messages together
NODE = NodeId("bench")


async def with_history(file: Path, name: str, messages: int) -> None:
    """`messages` rows, half of them the person's, in the API's lane of that name."""
    store = await open_sqlite(file, clock=time.time)
    await store.nodes.join(NODE)
    key, address = session_key("api", "dm", name), Address(platform="api", chat=name)
    words = "word " * (BYTES // messages // 5)
    for n in range(messages // 2):
        inbound = Inbound(
            id=MessageId(f"old-{n}"),
            account="bench",
            session=key,
            sender=Person(id="api"),
            address=address,
            text=words,
            at=time.time(),
        )
        await store.journal.accept(inbound, opens=SessionId(f"conversation-{name}"))
        (claim,) = await store.journal.claim(NODE, limit=1, only=key)
        session, at, turn = await store.journal.load(key), time.time(), TurnId(f"old{n}")
        reply = Reply(id=ReplyId(f"{turn}/0"), session=key, address=address, text=words)
        events = (
            e.TurnStarted(turn, (ref(inbound),), claim.epoch, at),
            e.ModelAnswered(turn=turn, at=at, text=words, model="m"),
            e.TurnEnded(turn, "answered", at, (reply,)),
        )
        commit = commit_of(session, events, snapshot=True, rests=True, fetched=("api",))
        await store.journal.append(commit, fence=Fence(NODE, claim.epoch))
    await store.upkeep.close()
