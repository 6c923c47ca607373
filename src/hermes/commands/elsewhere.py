"""Reach other sessions that work for this chat, such as background turns.

A background turn has a session of its own, but its questions are asked and answered in this chat.
The answer is forwarded to that session as a message whose id stays the same if the command runs
again.
"""

from msgspec.structs import replace

from hermes.core.channel import CommandCall, CommandContext
from hermes.core.ids import MessageId, SessionKey, platform_of
from hermes.core.messages import Inbound
from hermes.core.people import Role, sender_of
from hermes.core.session import Session, Turn, ref

FORWARDED = "forwarded"  # the account of forwarded messages; no channel has it
LANES_MAX = 50  # sessions to check for one command


def by_owner(call: CommandCall) -> bool:
    """Return True if the owner gave the command in a private chat."""
    return call.role is Role.OWNER and sender_of(call.inbound).is_direct


def may_decide(call: CommandCall, turn: Turn) -> bool:
    """Return True for the person who started the turn, and for the owner."""
    return call.inbound.sender.id == turn.sender or call.role is Role.OWNER


async def lanes_for_this_chat(
    call: CommandCall, context: CommandContext, phase: str
) -> list[Session]:
    """Return the sessions in this phase whose turn answers in this chat without belonging to it."""
    platform = call.inbound.address.platform
    rows = await context.store.library.in_phase(phase, limit=LANES_MAX)
    keys = [row.key for row in rows if platform_of(row.key) != platform]
    loaded = [await context.store.journal.load(key) for key in keys]
    return [session for session in loaded if speaks_here(call, session)]


def speaks_here(call: CommandCall, session: Session) -> bool:
    return session.turn is not None and session.turn.address == call.inbound.address


def forwarded(call: CommandCall, lane: SessionKey, text: str) -> Inbound:
    """Return the message with this text from the same person, addressed to that session."""
    id_ = MessageId(f"{ref(call.inbound)}/{lane}")
    said = call.inbound
    return replace(
        said, id=id_, account=FORWARDED, session=lane, text=text, media=(), place="", before=()
    )
