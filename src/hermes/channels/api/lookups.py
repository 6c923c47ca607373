"""GET routes. They only read."""

import math
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from hermes.channels.api.front import Front, document, named, parameter
from hermes.channels.api.listings import message_document, session_document, turn_document
from hermes.channels.api.manifest import lane_of
from hermes.channels.api.metrics import CONTENT_TYPE, metrics_text
from hermes.channels.api.refusals import unknown, wrong
from hermes.channels.api.shapes import ModelCard, ModelList
from hermes.core.events import Event, Span, TurnEnded, TurnInterrupted
from hermes.core.ids import SessionId, TurnId
from hermes.core.projection import TurnRow
from hermes.core.store import SessionRow, Store
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse
from hermes.views.turn_story import story

OURS: Final = "hermes"  # the model's name for clients that must name one
SESSIONS, SESSIONS_MAX = 50, 500
MESSAGES, MESSAGES_MAX = 500, 2_000
CONVERSATIONS_MAX = 1_000
EVENTS_PAGE, EVENTS_MAX = 1_000, 50_000


class Lookups(Struct, frozen=True, eq=False):
    front: Front

    async def health(self, _request: HttpRequest) -> HttpResponse:
        state = self.front.host.state()
        if state == "ready":
            return document({"status": "ok"})
        return document({"status": state}, 503)

    async def metrics(self, _request: HttpRequest) -> HttpResponse:
        status = await self.front.host.status()
        text = metrics_text(status, self.front.served, now=self.front.host.clock())
        return HttpResponse(text.encode(), type=CONTENT_TYPE)

    async def models(self, _request: HttpRequest) -> HttpResponse:
        return document(ModelList(tuple(await self._models())))

    async def model(self, request: HttpRequest) -> HttpResponse:
        name = named(request)
        for model in await self._models():
            if model.id == name:
                return document(model)
        raise unknown(f"There is no model “{name}” here.")

    async def sessions(self, request: HttpRequest) -> HttpResponse:
        query = request.head.parameters()
        limit = parameter(query, "limit", default=SESSIONS, most=SESSIONS_MAX)
        library = self.front.host.store.library
        rows = await library.sessions(limit=limit, before=_moment(query.get("before")))
        link = {}
        if len(rows) == limit:
            more = urlencode({"limit": limit, "before": repr(rows[-1].updated_at)})
            link = {"link": f'</v1/sessions?{more}>; rel="next"'}
        return document([session_document(row) for row in rows], headers=link)

    async def session(self, request: HttpRequest) -> HttpResponse:
        return document(session_document(await self._session(request)))

    async def messages(self, request: HttpRequest) -> HttpResponse:
        query = request.head.parameters()
        limit = parameter(query, "limit", default=MESSAGES, most=MESSAGES_MAX)
        start = parameter(query, "after", default=0, least=0, most=10**9)
        store = self.front.host.store
        id_ = await _conversation(store, await self._session(request), named(request))
        lines = await store.journal.lines([Span(id_, start, start + limit)])
        link = {}
        if len(lines) == limit:
            more = urlencode({"limit": limit, "after": start + limit})
            link = {"link": f'</v1/sessions/{id_}/messages?{more}>; rel="next"'}
        return document([message_document(line) for line in lines], headers=link)

    async def turn(self, request: HttpRequest) -> HttpResponse:
        row = await turn_of(self.front, request)
        steps = story(await turn_events(self.front.host.store, row))
        return document(turn_document(row, steps))

    async def _models(self) -> list[ModelCard]:
        created = int((await self.front.host.status()).started_at)
        names = dict.fromkeys(name for name in (OURS, self.front.model) if name)
        return [ModelCard(id=name, created=created) for name in names]

    async def _session(self, request: HttpRequest) -> SessionRow:
        """Find a session by the client's name for it, its key, or a conversation's id."""
        name = named(request)
        for each in (lane_of(name), name):
            if (row := await self.front.host.store.library.find(each)) is not None:
                return row
        raise unknown(f"There is no session “{name}”.")


async def turn_of(front: Front, request: HttpRequest) -> TurnRow:
    name = named(request)
    row = await front.host.store.library.turn(TurnId(name))
    if row is None:
        raise unknown(f"There is no turn “{name}”.")
    return row


async def turn_events(store: Store, turn: TurnRow) -> Sequence[Event]:
    """Return the events from the turn's first to its last; events of others may be between them."""
    events: list[Event] = []
    while len(events) < EVENTS_MAX:
        after = turn.first - 1 + len(events)
        page = await store.library.events(turn.key, after=after, limit=EVENTS_PAGE)
        for event in page:
            events.append(event)
            if isinstance(event, TurnEnded | TurnInterrupted) and event.turn == turn.id:
                return events
        if len(page) < EVENTS_PAGE:
            break
    return events


async def _conversation(store: Store, row: SessionRow, name: str) -> SessionId:
    """Return the conversation with the given id, else the session's current one."""
    if row.id == name or row.key in (name, lane_of(name)):
        return row.id
    rows = await store.library.conversations(row.key, limit=CONVERSATIONS_MAX)
    return next((each.id for each in rows if each.id.startswith(name)), row.id)


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = float(text)
    except ValueError:
        moment = math.nan
    if not math.isfinite(moment):
        raise wrong("before: give a time in seconds since 1970.", "invalid_parameter")
    return moment
