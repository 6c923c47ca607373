"""hermes audit show: print what was done, for which person and who allowed it."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from hermes.cli.audit.printing import NONE_YET, visible_text
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_session
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option, limit_option
from hermes.cli.output.times import iso, stamp
from hermes.core.audit import Sealed
from hermes.core.errors import Rejected
from hermes.core.ids import SessionKey
from hermes.core.store import Store

if TYPE_CHECKING:
    from argparse import ArgumentParser


CELL_CHARS_MAX = 160
UNITS_S = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}
# In a cell of its own, or said by its kind.
APART = frozenset({"session", "who", "by", "tool", "arguments", "call", "arguments_sha256"})
_PAST = re.compile(r"(\d{1,6})([mhd])")
LIMIT_MAX = 100_000


class AuditShowOptions(JsonOptions):
    limit: int
    since: str | None
    session: str | None


def _arguments(parser: "ArgumentParser") -> None:
    limit_option(parser, "entries, the latest ones", LIMIT_MAX)
    parser.add_argument("--since", metavar="WHEN", help="30m, 12h, 7d, or a date: 2025-12-31")
    parser.add_argument("--session", metavar="NAME", help="only those of this session")
    json_option(parser)


async def run(options: AuditShowOptions, context: CliContext) -> int:
    since = _since(options.since, context.clock()) if options.since else 0.0
    rows: list[Sealed] = []
    async with open_existing_store(context) as store:
        if store is not None:
            key = await _key(store, options.session) if options.session else None
            rows += await store.audit.entries(limit=options.limit, since=since, session=key)
    if options.json:
        context.console.document([_document(row) for row in rows])
    elif not rows:
        context.console.tell(NONE_YET)
    else:
        now = context.clock()
        context.console.table(
            ("WHEN", "WHAT", "WHO", "SESSION", "MORE"), [_cells(r, now) for r in rows]
        )
    return DONE


async def _key(store: Store, name: str) -> SessionKey:
    """Return the session's key. A deleted session is found by its full key, because its entries
    stay."""
    try:
        return (await find_session(store, name)).key
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
        raise UsageError(
            f"--since {text!r}: say 30m, 12h, 7d, or a date like 2025-12-31"
        ) from wrong


def _body(row: Sealed) -> Mapping[str, object]:
    """Return the entry's body. One that was tampered with is shown as it is; `verify` reports
    it."""
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
    session = session_name(SessionKey(str(body["session"]))) if "session" in body else ""
    cells = (stamp(row.entry.at, now), row.entry.kind, " ".join(who), session, "  ".join(more))
    return tuple(visible_text(cell) for cell in cells)


def _short(name: str, value: object) -> str:
    if name.endswith("_at") and isinstance(value, int | float):
        return iso(value) or ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= CELL_CHARS_MAX else f"{text[: CELL_CHARS_MAX - 1]}…"


def _document(row: Sealed) -> Mapping[str, object]:
    return {
        "chain": row.chain,
        "seq": row.seq,
        "at": iso(row.entry.at),
        "kind": row.entry.kind,
        "body": _body(row),
        "seal": row.seal.hex(),
    }


COMMAND = CliCommand(
    options=AuditShowOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes audit show -n 50
  hermes audit show --since 7d --session main
  hermes audit show --json --limit 100000 > audit.json

The oldest of them comes first.""",
)
