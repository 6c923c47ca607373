"""POST routes that act on a session: stop a turn, answer a question.

Such a request is stored as a message, and whichever process owns the session carries it out.
"""

import hashlib
from contextlib import ExitStack
from typing import Final

import msgspec
from msgspec import Struct

from hermes.channels.api.follow import TurnFollower
from hermes.channels.api.front import Front, body_of, document, named
from hermes.channels.api.listings import question_document
from hermes.channels.api.lookups import turn_of
from hermes.channels.api.manifest import PLATFORM
from hermes.channels.api.refusals import NO_RETRY, Unserved, unknown, wrong
from hermes.channels.api.shapes import Decision
from hermes.channels.api.translate import SENDER
from hermes.core.ids import MessageId, SessionKey
from hermes.core.messages import Address, Inbound
from hermes.core.projection import QuestionRow
from hermes.core.session import ref
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse
from hermes.views.answer import MessageAnswer
from hermes.views.open_questions import wants_words

ACCOUNT: Final = "api-orders"  # an account of its own: no client can take its messages' ids
QUESTIONS_MAX: Final = 200
LOOKS_MAX: Final = 5  # into the journal, a second each, before we say "accepted" and no more
OPEN: Final = ("running", "asking")
WORDS: Final = {
    "approve": "/approve {}",
    "session": "/approve {} session",
    "folder": "/approve {} folder",
    "always": "/approve {} always",
    "deny": "/deny {}",
}

CHOICES: Final = 'Send {"answer": "approve"}, "session", "folder", "always" or "deny"'


class ApiActions(Struct, frozen=True, eq=False):
    front: Front

    async def stop(self, request: HttpRequest) -> HttpResponse:
        turn = await turn_of(self.front, request)
        if turn.state not in OPEN:
            return document({"turn": turn.id, "state": turn.state})
        await self._run_command(turn.key, f"/stop {turn.id}", self.front.host.new_id())
        after = await self.front.host.store.library.turn(turn.id)
        return document({"turn": turn.id, "state": (after or turn).state}, 202)

    async def questions(self, request: HttpRequest) -> HttpResponse:
        """List the questions that wait; with ?all=1 also those of before."""
        every = request.head.parameters().get("all", "") not in ("", "0", "false")
        library = self.front.host.store.library
        rows = await library.questions(limit=QUESTIONS_MAX, pending=not every)
        return document([question_document(row) for row in rows])

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer one question, once, for exactly this call (C63)."""
        id_, library = named(request), self.front.host.store.library
        decision = _decision(await body_of(request) or b"")
        row = await library.question(id_)
        if row is None:
            raise unknown(f"There is no question “{id_}”.")
        if row.state != "pending":
            raise _not_open(row)
        wanted = decision.answer
        if await wants_words(self.front.host.store.journal, row):
            words = f"/answer {id_} {wanted}"
        elif wanted in WORDS:
            words = WORDS[wanted].format(id_)
        else:
            raise wrong(f"{CHOICES}, not “{wanted[:50]}”.", "invalid_request")
        name = hashlib.sha256(wanted.encode()).hexdigest()[:16] if wanted not in WORDS else wanted
        said = await self._run_command(row.key, words, f"{id_}/{name}")
        after = await library.question(id_) or row
        if after.state == "pending" and said.state == "done":
            raise Unserved(409, said.text or f"“{id_}” was not answered.", code="not_answered")
        if after.state != "pending" and (after.state == "denied") != (decision.answer == "deny"):
            raise _not_open(after)
        return document(
            {"id": id_, "state": _STATES.get(after.state, after.state)},
            202 if after.state == "pending" else 200,
        )

    async def _run_command(self, key: SessionKey, text: str, id_: str) -> MessageAnswer:
        """Store the command and wait a short time for its reply."""
        host = self.front.host
        command = Inbound(
            id=MessageId(id_),
            account=ACCOUNT,
            session=key,
            sender=SENDER,
            address=Address(platform=PLATFORM, chat=ACCOUNT),
            text=text,
            at=host.clock(),
        )
        with ExitStack() as open_:
            feed = open_.enter_context(host.watch(key))
            accepted = await host.accept(command)
            journal, waits = host.store.journal, self.front.waits
            follower = TurnFollower(journal, feed, waits, accepted, ref(command))
            await follower.read()
            looks = 0
            while follower.answer.state == "waiting" and looks < LOOKS_MAX and not waits.closing:
                news = await follower.news()
                looks += not news.live and news.glimpse is None
            return follower.answer


_STATES: Final = {"approved": "granted", "used": "granted", "pending": "accepted"}


def _decision(body: bytes) -> Decision:
    try:
        return msgspec.json.decode(body, type=Decision)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong(f"{CHOICES}: {error}.", "invalid_request") from error


def _not_open(row: QuestionRow) -> Unserved:
    if row.state in ("approved", "used", "denied"):
        by = f" by {row.decided_by}" if row.decided_by else ""
        text = f"“{row.id}” was {_STATES.get(row.state, row.state)} already{by}."
        return Unserved(409, text, code="already_answered", headers=NO_RETRY)
    text = f"“{row.id}” is closed: {row.state}."
    return Unserved(409, text, code="not_open", headers=NO_RETRY)
