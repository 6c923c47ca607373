"""hermes sessions list, show, search, delete: conversations as they are stored."""

import asyncio
from collections.abc import Mapping

from hermes.cli import sessions_grammar as grammar
from hermes.cli.errors import DONE, FAILED, Usage
from hermes.cli.lanes import called
from hermes.cli.names import conversation, found
from hermes.cli.place import Place
from hermes.cli.stored import looked_at, needed
from hermes.cli.times import ago, iso
from hermes.cli.transcript import readable
from hermes.cli.transcript import row as plain_row
from hermes.core.events import Span
from hermes.core.recall import EVERYTHING, marked
from hermes.core.store import Found, Hit, SessionRow

NONE_YET = "No conversations yet. Say something: hermes chat -q hello"


def run_list(given: grammar.Listing, place: Place) -> int:
    return asyncio.run(_list(given, place))


def run_show(given: grammar.Transcript, place: Place) -> int:
    return asyncio.run(_show(given, place))


def run_search(given: grammar.Search, place: Place) -> int:
    return asyncio.run(_search(given, place))


def run_delete(given: grammar.Delete, place: Place) -> int:
    return asyncio.run(_delete(given, place))


async def _list(given: grammar.Listing, place: Place) -> int:
    async with looked_at(place) as store:
        rows = await store.library.sessions(limit=given.limit) if store is not None else []
    if given.json:
        place.console.document([document(each) for each in rows])
    elif not rows:
        place.console.tell(NONE_YET)
    else:
        now = place.clock()
        cells = [
            (called(each.key), state(each), str(each.rows), ago(each.updated_at, now), each.title)
            for each in rows
        ]
        place.console.table(("NAME", "STATE", "MESSAGES", "LAST", "TITLE"), cells)
    return DONE


async def _show(given: grammar.Transcript, place: Place) -> int:
    async with needed(place) as store:
        session = await found(store, given.name)
        id_ = await conversation(store, session, given.name)
        lines = await store.journal.lines([Span(id_)])
    if given.json:
        messages = [plain_row(line) for line in lines]
        shown = {"session": document(session), "id": id_, "messages": messages}
        place.console.document(shown)
        return DONE
    now = place.clock()
    last = ago(session.updated_at, now)
    count = f"{len(lines)} messages"
    place.console.head(f"{called(session.key)}: {state(session)}, {count}, last {last}, id {id_}")
    place.console.say("")
    for line in readable(lines, now=now, full=given.full):
        place.console.say(line)
    return DONE


async def _search(given: grammar.Search, place: Place) -> int:
    words = " ".join(given.words)
    async with looked_at(place) as store:
        found = Found()
        if store is not None:
            found = await store.library.search(words, scope=EVERYTHING, limit=given.limit)
    hits = found.hits
    for note in found.notes:
        place.console.tell(note)
    if given.json:
        place.console.document([_hit(hit) for hit in hits])
    elif not hits:
        place.console.tell(f"“{words}” was not found")
        return FAILED
    else:
        now = place.clock()
        cells = [
            (called(hit.key), ago(hit.at, now), hit.role, marked(hit.excerpt, hit.marks))
            for hit in hits
        ]
        place.console.table(("NAME", "WHEN", "ROLE", "WORDS"), cells)
    return DONE


async def _delete(given: grammar.Delete, place: Place) -> int:
    async with needed(place) as store:
        session = await found(store, given.name)
        name = called(session.key)
        if not given.yes and not _confirmed(place, f"Delete {name} with {session.rows} messages?"):
            place.console.tell("Nothing was deleted")
            return FAILED
        await store.library.delete(session.key)
    place.console.say(f"Deleted {name}")
    return DONE


def _confirmed(place: Place, question: str) -> bool:
    if not place.console.stdin.isatty():
        raise Usage("nobody is there to ask. Add --yes to delete without a question")
    place.console.stderr.write(f"{question} [y/N] ")
    place.console.stderr.flush()
    return place.console.stdin.readline().strip().lower() in ("y", "yes")


def state(row: SessionRow) -> str:
    """The phase; while a turn waits to be resumed, that and why."""
    name = f"resume_pending ({row.mark})" if row.mark else row.phase
    return f"{name}, {row.waiting} waiting" if row.waiting else name


def document(row: SessionRow) -> Mapping[str, object]:
    return {
        "name": called(row.key),
        "key": row.key,
        "id": row.id,
        "phase": row.phase,
        "resume_pending": bool(row.mark),
        "mark": row.mark,
        "suspended": row.phase == "suspended",
        "runs": row.runs,
        "waiting": row.waiting,
        "title": row.title,
        "rows": row.rows,
        "events": row.events,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }


def _hit(hit: Hit) -> Mapping[str, object]:
    return {
        "name": called(hit.key),
        "key": hit.key,
        "id": hit.id,
        "ordinal": hit.ordinal,
        "role": hit.role,
        "at": iso(hit.at),
        "sender": hit.sender,
        "excerpt": marked(hit.excerpt, hit.marks),
    }
