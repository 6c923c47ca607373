"""POST routes that give an order to a session: stop a turn, answer a question.

An order is a message like any other: it is stored, then obeyed, by whichever process has the
session.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hermes.channels.api.follow import Follower
from hermes.channels.api.front import Front, body_of, document, named
from hermes.channels.api.listings import Document, question_document
from hermes.channels.api.lookups import turn_events, turn_of
from hermes.channels.api.manifest import PLATFORM
from hermes.channels.api.refusals import NO_RETRY, Unserved, unknown, wrong
from hermes.channels.api.shapes import Decision
from hermes.channels.api.translate import SENDER
from hermes.core.events import Event, QuestionAnswered, QuestionAsked
from hermes.core.ids import CallId, MessageId, SessionKey, TurnId
from hermes.core.messages import Address, Inbound
from hermes.core.session import Asking, ref
from hermes.views.answer import MessageAnswer

ORDERS: Final = "api-orders"  # an account of its own: no client can take its messages' ids
QUESTIONS_MAX: Final = 200
LOOKS_MAX: Final = 5  # into the journal, a second each, before we say "accepted" and no more
OPEN: Final = ("running", "asking")
WORDS: Final = {"approve": "/approve {}", "deny": "/deny {}", "always": "/approve {} always"}


@dataclass(frozen=True, eq=False)
class Orders:
    front: Front

    async def stop(self, request: Request) -> Response:
        turn = await turn_of(self.front, request)
        if turn.state not in OPEN:
            return document({"turn": turn.id, "state": turn.state})
        await self._obeyed(turn.key, f"/stop {turn.id}", self.front.door.new_id())
        after = await self.front.door.store.library.turn(turn.id)
        return document({"turn": turn.id, "state": (after or turn).state}, 202)

    async def questions(self, _request: Request) -> Response:
        store = self.front.door.store
        rows = await store.library.in_phase("asking", limit=QUESTIONS_MAX)
        found = [await self._question(row.key) for row in rows]
        return document([question for question in found if question is not None])

    async def answer(self, request: Request) -> Response:
        """Once, for this call, and for no other that may wait by then (C63)."""
        call = CallId(named(request))
        decision = _decision(await body_of(request.scope, request.receive) or b"")
        turn = await self.front.door.store.library.turn(TurnId(call.rpartition("-")[0]))
        events = await turn_events(self.front.door.store, turn) if turn is not None else ()
        if turn is None or not _was_asked(events, call):
            raise unknown(f"There is no question “{call}”.")
        session = await self.front.door.store.journal.load(turn.key)
        phase = session.phase
        if not isinstance(phase, Asking) or phase.call != call:
            raise _not_open(call, events)
        words = WORDS[decision.answer].format(call)
        said = await self._obeyed(turn.key, words, f"{call}/{decision.answer}")
        granted = _granted(await turn_events(self.front.door.store, turn), call)
        if granted is None and said.state == "done":
            raise Unserved(409, said.text or f"“{call}” was not answered.", code="not_answered")
        return document({"id": call, "state": _STATES[granted]}, 202 if granted is None else 200)

    async def _question(self, key: SessionKey) -> Document | None:
        journal = self.front.door.store.journal
        session = await journal.load(key)
        phase = session.phase
        if not isinstance(phase, Asking):
            return None  # it has been answered meanwhile
        events = await journal.since(key, phase.turn.first - 1)
        return question_document(session, phase, events)

    async def _obeyed(self, key: SessionKey, text: str, id_: str) -> MessageAnswer:
        """Give the order, and wait a little for what is said about it."""
        door = self.front.door
        order = Inbound(
            id=MessageId(id_),
            account=ORDERS,
            session=key,
            sender=SENDER,
            address=Address(platform=PLATFORM, chat=ORDERS),
            text=text,
            at=door.clock(),
        )
        with ExitStack() as open_:
            feed = open_.enter_context(door.watch(key))
            accepted = await door.accept(order)
            journal, waits = door.store.journal, self.front.waits
            follower = Follower(journal, feed, waits, accepted, ref(order))
            await follower.read()
            looks = 0
            while follower.answer.state == "waiting" and looks < LOOKS_MAX and not waits.closing:
                news = await follower.news()
                looks += not news.live and news.glimpse is None
            return follower.answer


_STATES: Final = {True: "granted", False: "denied", None: "accepted"}


def _decision(body: bytes) -> Decision:
    try:
        return msgspec.json.decode(body, type=Decision)
    except msgspec.DecodeError as error:
        text = 'Send {"answer": "approve"}, "deny" or "always"'
        raise wrong(f"{text}: {error}.", "invalid_request") from error


def _was_asked(events: Sequence[Event], call: CallId) -> bool:
    return any(isinstance(event, QuestionAsked) and event.call == call for event in events)


def _granted(events: Sequence[Event], call: CallId) -> bool | None:
    for event in events:
        if isinstance(event, QuestionAnswered) and event.call == call:
            return event.granted
    return None


def _not_open(call: CallId, events: Sequence[Event]) -> Unserved:
    granted = _granted(events, call)
    if granted is None:
        text = f"“{call}” waits no more: its turn was stopped or suspended."
        return Unserved(409, text, code="not_open", headers=NO_RETRY)
    text = f"“{call}” was {_STATES[granted]} already."
    return Unserved(409, text, code="already_answered", headers=NO_RETRY)
