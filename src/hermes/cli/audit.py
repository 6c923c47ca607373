"""hermes audit show, verify: what was done, and that nobody has touched that record since."""

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from hermes.cli import audit_grammar as grammar
from hermes.cli.command import Shown
from hermes.cli.errors import DONE, FAILED, Usage
from hermes.cli.lanes import called
from hermes.cli.names import found
from hermes.cli.place import Place
from hermes.cli.stored import looked_at
from hermes.cli.times import iso, stamp
from hermes.core.audit import Sealed
from hermes.core.errors import Rejected
from hermes.core.ids import SessionKey
from hermes.core.store import Store
from hermes.views.audit import read_heads, verified

NONE_YET = "Nothing was recorded yet"
CELL_CHARS_MAX = 160
UNITS_S = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}
# In a cell of its own, or said by its kind.
APART = frozenset({"session", "who", "by", "tool", "arguments", "call", "arguments_sha256"})
_PAST = re.compile(r"(\d{1,6})([mhd])")


def run_show(given: grammar.Show, place: Place) -> int:
    return asyncio.run(_show(given, place))


def run_verify(given: Shown, place: Place) -> int:
    return asyncio.run(_verify(given, place))


async def _show(given: grammar.Show, place: Place) -> int:
    since = _since(given.since, place.clock()) if given.since else 0.0
    rows: list[Sealed] = []
    async with looked_at(place) as store:
        if store is not None:
            key = await _key(store, given.session) if given.session else None
            rows += await store.audit.entries(limit=given.limit, since=since, session=key)
    if given.json:
        place.console.document([_document(row) for row in rows])
    elif not rows:
        place.console.tell(NONE_YET)
    else:
        now = place.clock()
        place.console.table(
            ("WHEN", "WHAT", "WHO", "SESSION", "MORE"), [_cells(r, now) for r in rows]
        )
    return DONE


async def _verify(given: Shown, place: Place) -> int:
    async with looked_at(place) as store:
        if store is None:
            faults, heads = _lost(place), {}
        else:
            faults = list(await verified(store.audit, place.home))
            heads = dict(await store.audit.heads())
    if given.json:
        place.console.document({"sound": not faults, "faults": faults, "heads": heads})
    elif faults:
        for fault in faults:
            place.console.say(shown(fault))
    else:
        ends = ", ".join(f"{chain} at {head.seq}" for chain, head in heads.items())
        place.console.say(f"sound: {shown(ends)}" if ends else f"sound: {NONE_YET.lower()}")
    if faults:
        place.console.tell("The record was changed. Keep the home as it is, and look at a backup")
    return FAILED if faults else DONE


def _lost(place: Place) -> list[str]:
    """There is no database any more, and there was one."""
    noted = read_heads(place.home)
    return [f"{name}: it is gone and had {head.seq} entries" for name, head in noted.items()]


async def _key(store: Store, name: str) -> SessionKey:
    """What was done in a session is known when the session is not any more."""
    try:
        return (await found(store, name)).key
    except Rejected:
        if name.startswith("agent:"):
            return SessionKey(name)
        raise


def _since(text: str, now: float) -> float:
    if past := _PAST.fullmatch(text):
        return now - int(past[1]) * UNITS_S[past[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError) as wrong:
        raise Usage(f"--since {text!r}: say 30m, 12h, 7d, or a date like 2025-12-31") from wrong


def _body(row: Sealed) -> Mapping[str, object]:
    """Whatever somebody has made of it: verify says that it was changed, this only shows it."""
    try:
        return msgspec.json.decode(row.entry.body, type=dict[str, object])
    except ValueError:
        return {"unreadable": row.entry.body.decode("utf-8", "replace")}


def _cells(row: Sealed, now: float) -> tuple[str, ...]:
    body = _body(row)
    who = [str(body["who"])] if "who" in body else []
    who += [f"by {body['by']}"] if "by" in body else []
    call = " ".join(str(body[name]) for name in ("tool", "arguments") if name in body)
    more = [call] if call else []
    more += [f"{name}={_short(name, value)}" for name, value in body.items() if name not in APART]
    session = called(SessionKey(str(body["session"]))) if "session" in body else ""
    cells = (stamp(row.entry.at, now), row.entry.kind, " ".join(who), session, "  ".join(more))
    return tuple(shown(cell) for cell in cells)


def _short(name: str, value: object) -> str:
    if name.endswith("_at") and isinstance(value, int | float):
        return iso(value) or ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= CELL_CHARS_MAX else f"{text[: CELL_CHARS_MAX - 1]}…"


def shown(text: str) -> str:
    """With nothing in it that moves, hides or turns round what stands beside it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _document(row: Sealed) -> Mapping[str, object]:
    return {
        "chain": row.chain,
        "seq": row.seq,
        "at": iso(row.entry.at),
        "kind": row.entry.kind,
        "body": _body(row),
        "seal": row.seal.hex(),
    }
