"""hermes approvals …: what waits for the owner's word, and what was allowed for good."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never

from hermes.cli import approvals_grammar as grammar
from hermes.cli.errors import DONE
from hermes.cli.lanes import called
from hermes.cli.place import Place
from hermes.cli.service.lock import held
from hermes.cli.stored import looked_at, needed
from hermes.cli.times import ago, iso, stamp
from hermes.core.errors import Rejected
from hermes.core.grants import Grant
from hermes.core.ids import MessageId, SessionId
from hermes.core.messages import Address, Inbound, Person
from hermes.core.projection import QuestionRow
from hermes.views.honest import honest

LISTED_MAX = 500
NOTHING = "Nothing waits for your word"
NO_GRANTS = "Nothing is allowed for good"
LATER = "It is written down. Start the gateway, or open the chat, and it goes on: hermes gateway"
WORDS = {"approve": "/approve {}", "deny": "/deny {}", "always": "/approve {} always"}
T = TypeVar("T")


def run(given: grammar.Given, place: Place) -> int:
    """Any of these commands, told apart by what was given."""
    match given:
        case grammar.Questions():
            return asyncio.run(_list(given, place))
        case grammar.Answer():
            return asyncio.run(_answer(given, place))
        case grammar.Grants():
            return asyncio.run(_grants(given, place))
        case grammar.RevokeGrant():
            return asyncio.run(_revoke(given, place))
        case _:
            assert_never(given)


async def _list(given: grammar.Questions, place: Place) -> int:
    async with looked_at(place) as store:
        rows: Sequence[QuestionRow] = ()
        if store is not None:
            rows = await store.library.questions(limit=LISTED_MAX, pending=not given.all)
    if given.json:
        place.console.document([_document(row) for row in rows])
    elif not rows:
        place.console.say(NOTHING)
    for row in () if given.json else rows:
        now = place.clock()
        until = f", until {stamp(row.expires_at, now)}" if row.state == "pending" else ""
        place.console.head(f"{row.id}  {row.state}, asked {ago(row.asked_at, now)}{until}")
        place.console.say(f"{called(row.key)}\n{row.preview}\n")
    if rows and not given.json and any(row.state == "pending" for row in rows):
        place.console.say("Answer with: hermes approvals answer ID approve|deny|always")
    return DONE


async def _answer(given: grammar.Answer, place: Place) -> int:
    async with needed(place) as store:
        rows = await store.library.questions(limit=LISTED_MAX)
        row = one(rows, given.id, lambda each: each.id, "question")
        if row.state != "pending":
            by = f" by {row.decided_by}" if row.decided_by else ""
            raise Rejected(f"that question is closed: {row.state}{by}")
        text = f"{WORDS[given.answer].format(row.id)} {' '.join(given.reason)}".strip()
        inbound = Inbound(
            id=MessageId(f"{row.id}/{given.answer}"),
            account="approvals",
            session=row.key,
            sender=Person(id="owner"),
            address=Address(platform="local", chat="approvals"),
            text=text,
            at=place.clock(),
        )
        await store.journal.accept(inbound, opens=SessionId(""))
    if given.json:
        place.console.document({"id": row.id, "answer": given.answer})
    else:
        place.console.say(f"{given.answer}: {row.tool}, for {called(row.key)}")
        if not held(place.home):
            place.console.tell(LATER)
    return DONE


async def _grants(given: grammar.Grants, place: Place) -> int:
    async with looked_at(place) as store:
        grants = (await store.trust.register()).grants if store is not None else ()
    if given.json:
        place.console.document([_grant(grant) for grant in grants])
        return DONE
    if not grants:
        place.console.say(NO_GRANTS)
        return DONE
    now = place.clock()
    rows = [(g.id[:12], g.principal, g.tool, _what(g), stamp(g.expires_at, now)) for g in grants]
    place.console.table(("GRANT", "FOR", "TOOL", "WHAT", "UNTIL"), rows)
    return DONE


async def _revoke(given: grammar.RevokeGrant, place: Place) -> int:
    async with needed(place) as store:
        grants = (await store.trust.register()).grants
        grant = one(grants, given.grant, lambda each: each.id, "grant")
        await store.trust.revoke_grant(grant.id, by="the terminal", at=place.clock())
    if given.json:
        place.console.document({"id": grant.id, "revoked": True})
    else:
        place.console.say(f"Not allowed any more: {_what(grant)}")
    return DONE


def one(rows: Sequence[T], name: str, id_of: Callable[[T], str], what: str) -> T:
    """The one whose id begins so. Raises Rejected."""
    found = [row for row in rows if id_of(row).startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    problem = "there is no such" if not found else "there are several such"
    raise Rejected(f"{name}: {problem} {what}{'s' if found else ''}")


def _what(grant: Grant) -> str:
    template = grant.template
    if template is None:
        return honest(grant.arguments)
    words = [template.program, template.subcommand, *sorted(template.options), *template.operands]
    text = " ".join(word for word in words if word)
    return honest(f"{text} in {', '.join(template.paths)}" if template.paths else text)


def _document(row: QuestionRow) -> dict[str, object]:
    return {
        "id": row.id,
        "session": row.key,
        "turn": row.turn,
        "tool": row.tool,
        "preview": row.preview,
        "why": row.why,
        "asked_at": iso(row.asked_at),
        "expires_at": iso(row.expires_at or None),
        "state": row.state,
        "decided_by": row.decided_by,
        "decided_at": iso(row.decided_at),
    }


def _grant(grant: Grant) -> dict[str, object]:
    return {
        "id": grant.id,
        "principal": grant.principal,
        "tool": grant.tool,
        "what": _what(grant),
        "profile": grant.profile,
        "expires_at": iso(grant.expires_at),
    }
