"""Decide what happens to a draft in a chat: a reply replaces it, or it is removed. Pure.

A draft never stays next to its answer, whichever process dies in between (C54).
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from hermes.core.ids import ReplyId, SessionKey
from hermes.core.messages import Reply
from hermes.core.session import Session, Turn


def in_place_of_draft(turn: Turn, reply: Reply) -> Reply:
    """The reply, where the chat shows a beginning of the turn's answer (C54)."""
    return replace(reply, replaces=turn.draft, unseen=turn.unseen)


def draft_left(before: Session, after: Session) -> tuple[Turn, ...]:
    """The turn whose draft is not taken care of by any turn from here on."""
    turn, then = before.turn, after.turn
    if turn is None or not (turn.draft or turn.unseen):
        return ()
    kept = then is not None and then.id == turn.id and (then.draft or then.unseen)
    return () if kept else (turn,)


def removals(
    drafted: Sequence[Turn], replies: Sequence[Reply], key: SessionKey, fetched: Collection[str]
) -> Iterator[Reply]:
    """A draft in whose place no reply goes is taken away, durably (C54)."""
    taken = {reply.replaces or (reply.unseen and reply.unseen.turn) for reply in replies}
    for turn in drafted:
        if (turn.draft or turn.id) not in taken and turn.address.platform not in fetched:
            id_ = ReplyId(f"{turn.id}/draft-{turn.calls}")
            gone = Reply(id=id_, session=key, address=turn.address, text="", kind="removal")
            yield in_place_of_draft(turn, gone)
