"""Which turn took a message, which replies answer it, and what a script is told about that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from hermes.cli.turns import turn_events
from hermes.core.events import Event, TurnResumed, TurnStarted, TurnSteered
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow
from hermes.core.session import ref
from hermes.core.store import Accepted, Store
from hermes.core.turn_story import StepRow, story, total

REPLIES_MAX = 200  # of a session, among which those of one message are found


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What became of one message. A command has no turn.

    The replies come from the store: with two chats in one lane, one process may work and send for
    both, and each shows its own.
    """

    key: SessionKey
    session_id: SessionId
    message: str
    turn: TurnRow | None
    steps: tuple[StepRow, ...]
    replies: tuple[Reply, ...]  # to this message, whichever process has sent them

    @property
    def state(self) -> str:
        return self.turn.state if self.turn is not None else "done"

    def document(self, others: Sequence[Reply]) -> Mapping[str, object]:
        models = [step.name for step in self.steps if step.kind == "model"]
        return {
            "session": self.key,
            "session_id": self.session_id,
            "turn": self.turn.id if self.turn is not None else None,
            "text": "\n\n".join(reply.text for reply in self.replies),
            "state": self.state,
            "steps": len(self.steps),
            "usage": asdict(total(self.steps)),
            "model": models[-1] if models else None,
            "notices": [reply.text for reply in others],
        }


async def answered(store: Store, inbound: Inbound, accepted: Accepted) -> Answered:
    """Read from the journal what was done about a message that has been accepted."""
    message = ref(inbound)
    id_ = turn_of(await store.journal.since(accepted.key, accepted.position), message)
    turn = await store.library.turn(id_) if id_ is not None else None
    steps = story(await turn_events(store, turn)) if turn is not None else ()
    session = await store.library.find(accepted.key)
    sent = await store.outbox.rows(accepted.key, limit=REPLIES_MAX)
    return Answered(
        key=accepted.key,
        session_id=session.id if session is not None else SessionId(""),
        message=message,
        turn=turn,
        steps=steps,
        replies=tuple(row.reply for row in reversed(sent) if is_about(row.reply, message, id_)),
    )


def is_about(reply: Reply, message: str, turn: TurnId | None) -> bool:
    """Does the reply belong to this message, or to the turn that took it in?"""
    starts = (f"{turn}/", f"{turn}-") if turn is not None else ()
    return reply.id.startswith((f"{message}/", *starts))


def turn_of(events: Iterable[Event], message: str) -> TurnId | None:
    """The turn that took the message in, begun by it or joined by it."""
    for event in events:
        match event:
            case TurnStarted(turn=turn, messages=taken) | TurnResumed(turn=turn, messages=taken):
                if message in taken:
                    return turn
            case TurnSteered(turn=turn, message=steered) if steered == message:
                return turn
            case _:
                continue
    return None
