"""A session whose journal has an event that cannot be read: told apart, and left by a command.

The journal is kept as it is. Nothing can be folded behind such an event, until a message leaves the
conversation: from that message on the session is folded as a new one.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hermes.core.codec import decode_event
from hermes.core.errors import Refused, RowUnreadable
from hermes.core.events import Event, MessageReceived
from hermes.core.fold import fold, fold_all
from hermes.core.messages import Inbound
from hermes.core.session import Session
from hermes.core.step import command_name

LEAVING = frozenset({"/new", "/reset", "/suspend"})


def leaves(inbound: Inbound) -> bool:
    """Return True if this message leaves its conversation."""
    return command_name(inbound) in LEAVING


def folded(base: Session, stored: Sequence[bytes]) -> Session:
    """The session behind these events. Raise RowUnreadable or Refused when it cannot be read."""
    try:
        return fold_all(base, map(decode_event, stored))
    except (RowUnreadable, Refused):
        *_, (_, _, session) = ((base, None, base), *readable(base, stored))
        return session


def readable(base: Session, stored: Iterable[bytes]) -> Iterator[tuple[Session, Event, Session]]:
    """Yield each event that counts, between the session before and after it. Raise at the end when
    the session cannot be read there."""
    session, broken = base, None
    for position, raw in enumerate(stored, start=base.position + 1):
        try:
            event = decode_event(raw)
            if broken is not None and not _leaves(event):
                continue
            before = session if broken is None else Session(key=base.key, position=position - 1)
            session = fold(before, event)
        except (RowUnreadable, Refused) as error:
            broken = broken or error
            continue
        if broken is not None:
            session, broken = replace(session, salvaged=True), None
        yield before, event, session
    if broken is not None:
        raise broken


def _leaves(event: Event) -> bool:
    return isinstance(event, MessageReceived) and leaves(event.inbound)
