"""Names of chats, and which of them are homes: a few rows for each session that says so.

A row is deleted with its session; then the next session that names the same chat counts.
"""

from collections.abc import Sequence

import apsw

from hermes.core.codec import decode_event
from hermes.core.events import HomeSet, MessageReceived
from hermes.core.messages import Inbound, sound
from hermes.core.store import ChatRow, Home
from hermes.stores.listing import chat_row, home_row
from hermes.stores.sqlite.reader import rows

SEEN_S = 3_600.0  # so far may `seen_at` lie back: not every message is worth a write
LATEST = """
SELECT session, name, seen_at FROM chats
WHERE platform = ? AND chat = ? AND thread = ? AND account = ? ORDER BY seen_at DESC LIMIT 1
"""
SEE = """
INSERT INTO chats VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET name = excluded.name, seen_at = max(seen_at, excluded.seen_at)
"""
CHATS = """
SELECT c.platform, c.chat, c.thread, c.account, c.name, s.key, c.seen_at FROM (
    SELECT platform, chat, thread, account, session, name, max(seen_at) AS seen_at
    FROM chats GROUP BY platform, chat, thread, account
) c JOIN sessions s ON s.n = c.session ORDER BY c.seen_at DESC LIMIT ?
"""
SET_HOME = "INSERT OR REPLACE INTO homes VALUES (?, ?, ?, ?, ?, ?, ?)"
HOMES = """
SELECT platform, chat, thread, account, at FROM (
    SELECT platform, chat, thread, account, at, max(event) AS event FROM homes GROUP BY platform
) ORDER BY event DESC, at DESC
"""
SAID = """
SELECT n, session, event FROM journal
WHERE kind IN ('message_received.1', 'home_set.1') ORDER BY n
"""


def see_chat(db: apsw.Cursor, session: int, inbound: Inbound) -> None:
    """Note the chat of a received message, with its name."""
    at, name = inbound.address, sound(inbound.place)
    place = (at.platform, at.chat, at.thread, at.account)
    for last, known, seen_at in rows(db, LATEST, place):
        if (last, known) == (session, name) and inbound.at - SEEN_S < seen_at:
            return
    db.execute(SEE, (*place, session, name, inbound.at))


def set_homes(db: apsw.Cursor, session: int, homes: Sequence[Home], event: int) -> None:
    for home in homes:
        at = home.address
        place = (at.platform, session, at.chat, at.thread, at.account)
        db.execute(SET_HOME, (*place, home.at, event))


def chats(db: apsw.Cursor, limit: int) -> list[ChatRow]:
    return [chat_row(*row) for row in rows(db, CHATS, (limit,))]


def homes(db: apsw.Cursor) -> list[Home]:
    return [home_row(*row) for row in rows(db, HOMES)]


def rebuild_directory(db: apsw.Cursor) -> None:
    """Rebuild the directory from the journal, in the order in which it was written."""
    db.execute("DELETE FROM chats")
    db.execute("DELETE FROM homes")
    for number, session, raw in db.connection.execute(SAID):  # one by one: it may be long
        match decode_event(raw):
            case MessageReceived(inbound=inbound) if inbound.place:
                see_chat(db, session, inbound)
            case HomeSet(address=address, at=at):
                set_homes(db, session, [Home(address=address, at=at)], number)
