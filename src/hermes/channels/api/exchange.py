"""One accepted chat request: the message it is about, and when waiting for it ends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from hermes.channels.api import render
from hermes.channels.api.follow import News, TurnFollower
from hermes.channels.api.front import Front
from hermes.channels.api.refusals import NO_RETRY, NO_STORE, RETRY, Unserved
from hermes.core.errors import StoreFailed
from hermes.httpd.request import HttpRequest
from hermes.views.answer import MessageAnswer

_CUT: Final = (
    "The gateway is stopping before the turn has ended; the turn continues when it is back."
)
_KEYED: Final = "Repeat the request with the same Idempotency-Key."
_NOT_KEYED: Final = "Do not repeat the request, or it runs twice; the session will have the answer."


class Exchange(Struct, frozen=True, eq=False, kw_only=True):
    front: Front
    follower: TurnFollower
    session: str
    keyed: bool
    request: HttpRequest

    @property
    def answer(self) -> MessageAnswer:
        return self.follower.answer

    @property
    def settled(self) -> bool:
        return self.follower.settled

    def headers(self) -> Mapping[str, str]:
        return render.headers(self.session, self.answer)

    def id(self) -> str:
        return f"chatcmpl-{self.answer.turn or self.front.host.new_id()}"

    async def settle(self) -> None:
        """Wait for the answer. Raise Unserved when the server closes or the store fails, and Gone
        when the client disconnected. If the last read of the journal has the answer, return it."""
        while not self.settled:
            with self._read():
                heard = await self.follower.settle()
            if not heard:
                self._look_up()

    async def news(self) -> News:
        """Return what happens next, waiting at most a second. Raise as `settle` does."""
        with self._read():
            news = await self.follower.news()
        if not news.live and news.glimpse is None:
            self._look_up()
        return news

    async def catch_up(self) -> None:
        with self._read():
            await self.follower.read()

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Read the journal. The message is accepted already, so a failure must not make the client
        repeat it."""
        try:
            yield
        except StoreFailed as failure:
            raise self._later(f"The journal cannot be read now: {failure}.", NO_STORE) from failure

    def _look_up(self) -> None:
        if self.settled:
            return
        if self.front.waits.closing:
            raise self._later(_CUT, "gateway_stopping")
        if self.request.gone:
            raise Gone

    def _later(self, why: str, code: str) -> Unserved:
        advice = _KEYED if self.keyed else _NOT_KEYED
        headers = {**self.headers(), **(RETRY if self.keyed else NO_RETRY)}
        return Unserved(503, f"{why} {advice}", code=code, type_="server_error", headers=headers)


class Gone(Unserved):
    """The client disconnected, so this answer reaches no one."""

    def __init__(self) -> None:
        super().__init__(499, "The client has left.", code="client_left")
