"""Find a stored session by what a person calls it."""

from hermes.cli.lookup.store import events_of
from hermes.core.errors import Rejected
from hermes.core.events import MessageReceived, SessionReset
from hermes.core.ids import MAIN_AGENT, SessionId, session_key
from hermes.core.store import SessionRow, Store

_AGENT = f"agent:{MAIN_AGENT}:"


async def find_session(store: Store, name: str) -> SessionRow:
    """Find a session by name, key, conversation id or a prefix of one. Raise Rejected."""
    for each in (session_key("local", "dm", name), _AGENT + name, name) if name else ():
        if (row := await store.library.find(each)) is not None:
            return row
    raise Rejected(f"there is no session “{name}”. See: hermes sessions list")


async def find_conversation(store: Store, row: SessionRow, name: str) -> SessionId:
    """Return the conversation that was asked for; an older one is found only by its own id."""
    if not name or row.id.startswith(name):
        return row.id
    async for event in events_of(store, row.key):
        match event:
            case MessageReceived(opens=opens) | SessionReset(opens=opens):
                if opens.startswith(name):
                    return opens
            case _:
                continue
    return row.id
