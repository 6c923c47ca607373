"""POST /v1/chat/completions: accept a message and return the answer of its turn, whole or streamed.

The turn belongs to the engine: a client that disconnects only stops waiting for it.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from msgspec import Struct

from hermes.channels.api import render, translate
from hermes.channels.api.exchange import Exchange, Gone
from hermes.channels.api.follow import TurnFollower
from hermes.channels.api.front import JSON, Front, body_of, refused
from hermes.channels.api.manifest import name_of
from hermes.channels.api.refusals import LEAVING, NO_RETRY, RETRY, Unserved, busy
from hermes.channels.api.shapes import CompletionRequest
from hermes.channels.api.stream import Streaming
from hermes.core.channel import Feed
from hermes.core.errors import Fenced
from hermes.core.messages import Inbound, Media
from hermes.core.session import ref
from hermes.core.store import Accepted
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse

WAITING_MAX: Final = 4_096  # requests at a time


class Completions(Struct, frozen=True, eq=False):
    """Answer chat completions. Each request follows its session until it is answered."""

    front: Front

    async def answer(self, request: HttpRequest) -> HttpResponse | None:
        body = await body_of(request)
        if body is None:
            return None
        front, head = self.front, request.head
        asked = translate.asked(body)
        ticket = translate.ticket(
            head.header(b"x-hermes-session-id"),
            head.header(b"idempotency-key"),
            front.host.new_id,
        )
        self._demand_room(keyed=ticket.keyed)
        media = await self._shelved(asked, ticket)
        inbound = translate.inbound(asked, ticket, media, at=front.host.clock())
        front.waiting += 1
        try:
            with ExitStack() as open_:
                accepted, feed = await self._accepted(
                    inbound, open_, live=bool(asked.stream), keyed=ticket.keyed
                )
                journal, waits = front.host.store.journal, front.waits
                exchange = Exchange(
                    front=front,
                    follower=TurnFollower(journal, feed, waits, accepted, ref(inbound)),
                    session=name_of(accepted.key),
                    keyed=ticket.keyed,
                    request=request,
                )
                if not accepted.fresh:
                    await exchange.catch_up()
                    if not exchange.follower.settled:
                        await front.host.resume(accepted.key)
                if not asked.stream:
                    return await _whole(exchange)
                options = asked.stream_options
                counted = options is not None and bool(options.include_usage)
                await Streaming(exchange=exchange, counted=counted).run()
                return None
        except Gone:
            return None
        finally:
            front.waiting -= 1

    def _demand_room(self, *, keyed: bool) -> None:
        """Raise Unserved when too many requests wait. While draining, accept only requests with an
        Idempotency-Key, which can be repeated."""
        if self.front.waiting >= WAITING_MAX:
            raise Unserved(429, "Too many requests wait already.", code="busy", headers=RETRY)
        if not keyed and self.front.host.state() == "draining":
            text = "The gateway is about to stop. Try again soon, or send an Idempotency-Key."
            raise busy(text, "draining")

    async def _shelved(
        self, asked: CompletionRequest, ticket: translate.Ticket
    ) -> Mapping[str, Media]:
        media = self.front.host.media
        return {
            url: await media.put(picture.content, picture.media_type, "image")
            for url, picture in translate.pictures(asked, ticket).items()
        }

    async def _accepted(
        self, inbound: Inbound, open_: ExitStack, *, live: bool, keyed: bool
    ) -> tuple[Accepted, Feed]:
        """Accept the message and follow its session. Subscribe first: no event may be missed."""
        host = self.front.host
        feed = open_.enter_context(host.watch(inbound.session, live=live))
        try:
            accepted = await host.accept(inbound)
        except Fenced as fenced:
            raise _fenced(keyed=keyed) from fenced
        if accepted.key != inbound.session:
            feed = open_.enter_context(host.watch(accepted.key, live=live))
        return accepted, feed


def _fenced(*, keyed: bool) -> Unserved:
    """Return the error for a lost session. The message may be stored, and another process answers
    it."""
    advice = "Repeat the request with the same Idempotency-Key."
    if not keyed:
        advice = "Look at the session before you repeat the request: it may be there already."
    text, headers = f"{LEAVING} {advice}", RETRY if keyed else NO_RETRY
    return Unserved(503, text, code="gateway_stopping", type_="server_error", headers=headers)


async def _whole(exchange: Exchange) -> HttpResponse:
    await exchange.settle()
    answer, headers = exchange.answer, exchange.headers()
    if problem := render.problem(answer):
        problem.headers |= headers
        return refused(problem)
    body = render.completion(
        answer,
        id_=exchange.id(),
        created=int(exchange.follower.at),
        model=exchange.front.model,
    )
    return HttpResponse(body, headers=headers, type=JSON)
